#include "launch/app/rendezvous.hpp"

namespace launch {

Rendezvous::~Rendezvous() = default;

}  // namespace launch
