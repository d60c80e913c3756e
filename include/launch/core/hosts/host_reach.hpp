// Which address of node 0 all other hosts reach, and if there is none, who does not reach which. Used by the head of
// launch --hosts. Pure: the hosts themselves have tried, each within a few seconds, and nothing is looked up here. An
// error says what is wrong with the network that the user named; usage.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/hosts/connection_words.hpp"

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

// An error if the text can be no network at all.
Status check_network(const std::string& network);

// Those of a host's addresses that are on the network that the user named: "10.1.0.0/16", an address, or an interface.
// Empty: all. An error if none is.
Result<std::vector<std::string>> on_network(const std::vector<std::string>& addresses,
                                            const std::vector<std::string>& interfaces, const std::string& network);

// The first that all reach.
std::optional<std::string> choose_address(const std::vector<std::string>& addresses, const std::vector<ReachRow>& rows);

// For people, one line for each address, and what may help.
std::vector<std::string> explain_reach(const std::string& first_host, std::uint16_t port,
                                       const std::vector<std::string>& addresses, const std::vector<ReachRow>& rows);

// The same for programs: the hosts that do not reach one of the addresses; node 0's if it has none.
std::vector<HostProblem> reach_problems(const std::string& first_host, std::uint16_t port,
                                        const std::vector<std::string>& addresses, const std::vector<ReachRow>& rows);

}  // namespace launch
