#include "launch/core/startup/client_arrivals.hpp"

namespace launch {

void ClientArrivals::expect(std::size_t count) {
  expected_ = count;
  look();
}

void ClientArrivals::note(ClientArrival arrival) {
  if (all_.size() >= most || !known_.emplace(arrival.address, arrival.pid).second) return;
  all_.push_back(std::move(arrival));
  look();
}

void ClientArrivals::forget() {
  all_.clear();
  known_.clear();
}

void ClientArrivals::look() {
  if (expected_ == 0 || all_.size() < expected_) return;
  expected_ = 0;
  if (reached_) reached_();
}

}  // namespace launch
