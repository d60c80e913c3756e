#include "launch/core/c10d/elastic_machine.hpp"

namespace launch {

ElasticMachine::~ElasticMachine() = default;

}  // namespace launch
