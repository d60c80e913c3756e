#include "launch/core/elastic_machine.hpp"

namespace launch {

ElasticMachine::~ElasticMachine() = default;

}  // namespace launch
