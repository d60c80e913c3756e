// Which processes of workers have connected to the store of this node, and when: each process once, by its first
// connection. io/store_server fills it; app/startup_desk reads it, and is called when as many have come as it expects.
// Pure and bounded: beyond 65,536 processes no further one is remembered. It does not know whose processes they are.
#pragma once

#include "launch/core/base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace launch {

struct ClientArrival {
  std::string address;    // from which it has connected
  bool here = false;      // it has connected to an address of its own host
  std::uint32_t pid = 0;  // as it says itself, so perhaps that of another pid namespace
  Time at{};
};

class ClientArrivals {
 public:
  static constexpr std::size_t most = 65'536;

  // Called each time that an expected number is reached.
  void set_listener(std::function<void()> reached) { reached_ = std::move(reached); }
  // Of how many the listener wants to know; if as many have come already, it is called at once. 0: of none.
  void expect(std::size_t count);

  void note(ClientArrival arrival);
  // The workers restart: what was noted is of processes that are gone.
  void forget();

  // In the order in which they came.
  const std::vector<ClientArrival>& all() const { return all_; }

 private:
  void look();

  std::function<void()> reached_;
  std::size_t expected_ = 0;
  std::vector<ClientArrival> all_;
  std::set<std::pair<std::string, std::uint32_t>> known_;
};

}  // namespace launch
