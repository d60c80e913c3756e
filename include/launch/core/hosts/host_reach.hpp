// Which address of node 0 all other hosts reach, and if there is none, who reaches which. Used by the head of
// launch --hosts. Pure: the hosts themselves have tried, each within a few seconds, and nothing is looked up here. An
// error says what is wrong with the network that the user named; usage.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/hosts/connection_words.hpp"
#include "launch/core/hosts/host_messages.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace launch {

// What one host has found out about each of the addresses: why it does not reach it; empty: it does.
struct ReachRow {
  std::string host;
  std::vector<std::string> faults;
};

// What they have tried.
struct ReachFacts {
  std::string first_host;  // that of node 0
  std::uint16_t port = 0;
  std::vector<std::string> addresses{};
  std::vector<std::string> shown{};  // the same for people, with the interfaces; may be empty
};

// An error if the text can be no network at all.
Status check_network(const std::string& network);

// Those of a host's addresses that are on the network that the user named: "10.1.0.0/16", an address, or an interface.
// Empty: all. An error if none is.
Result<std::vector<std::string>> on_network(const std::vector<std::string>& addresses,
                                            const std::vector<std::string>& interfaces, const std::string& network);

// Which addresses of node 0 the other hosts are asked for.
class AddressSearch {
 public:
  AddressSearch() = default;
  // On one machine its loopback is asked for at first, and nothing else: it is the best one, unless the hosts are
  // containers.
  AddressSearch(std::vector<std::string> addresses, bool on_one_machine);

  const std::vector<std::string>& asked() const { return asked_; }
  // Not all reach one of these: whether there are others, which are among asked() from now on.
  bool ask_for_more();

 private:
  std::vector<std::string> asked_, more_;
};

// The first that all reach.
std::optional<std::string> choose_address(const std::vector<std::string>& addresses, const std::vector<ReachRow>& rows);

// An address of node 0, as people know it: "ib0 10.1.0.1".
std::vector<std::string> shown_addresses(const std::vector<std::string>& addresses, const NodeReady& first);

// For people: who reaches none of the addresses, and why. If others reach some of them, a line for each address follows
// (`shown`: as shown_addresses()) with the hosts that reach it and those that do not; then what may help.
std::vector<std::string> explain_reach(const ReachFacts& facts, const std::vector<ReachRow>& rows);

// The same for programs: the hosts that do not reach one of the addresses; node 0's if it has none.
std::vector<HostProblem> reach_problems(const ReachFacts& facts, const std::vector<ReachRow>& rows);

}  // namespace launch
