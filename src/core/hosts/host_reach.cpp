#include "launch/core/hosts/host_reach.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/job/endpoint.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::size_t longest_fault = 80;
constexpr const char* no_network = "has no network that others could use";

// An address as bytes: 4 or 16 of them.
using AddressBytes = std::vector<unsigned char>;

std::optional<AddressBytes> address_bytes(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  const bool four = ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1;
  if (!four && ::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return std::nullopt;
  return AddressBytes(bytes.begin(), bytes.begin() + (four ? 4 : 16));
}

struct Subnet {
  AddressBytes bytes;
  std::size_t bits = 0;
};

// "10.1.0.0/16", or an address alone.
std::optional<Subnet> parse_subnet(const std::string& text) {
  const auto slash = text.find('/');
  const auto bytes = address_bytes(text.substr(0, slash));
  if (!bytes) return std::nullopt;
  const int all = static_cast<int>(bytes->size()) * 8;
  const int bits = slash == std::string::npos ? all : parse_int(text.substr(slash + 1)).value_or(-1);
  if (bits < 0 || bits > all) return std::nullopt;
  return Subnet{*bytes, static_cast<std::size_t>(bits)};
}

bool contains(const Subnet& subnet, const std::string& address) {
  const auto bytes = address_bytes(address);
  if (!bytes || bytes->size() != subnet.bytes.size()) return false;
  for (std::size_t bit = 0; bit < subnet.bits; ++bit) {
    const auto mask = static_cast<unsigned>(0x80U >> (bit % 8));
    if ((((*bytes)[bit / 8] ^ subnet.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

std::string fault_of(const ReachRow& row, std::size_t address) {
  return address < row.faults.size() ? without_controls(row.faults[address], longest_fault) : "no answer";
}

using HostsByFault = std::map<std::string, std::vector<std::string>>;

// "10.0.0.1:29500 (Connection refused) nor [fd00::1]:29500 (no answer)"
std::string faults_of(const ReachRow& row, const ReachFacts& facts) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < facts.addresses.size(); ++i)
    if (const std::string fault = fault_of(row, i); !fault.empty())
      parts.push_back(fmt::format("{} ({})", to_text(Endpoint{facts.addresses[i], facts.port}), fault));
  return fmt::format("{}", fmt::join(parts, " nor "));
}

std::size_t reached_by(const ReachRow& row, std::size_t addresses) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < addresses; ++i) count += fault_of(row, i).empty() ? 1 : 0;
  return count;
}

// "n[3-4] (Connection refused), n5 (no answer)"
std::string fold_by_fault(const HostsByFault& by_fault) {
  std::vector<std::string> parts;
  parts.reserve(by_fault.size());
  for (const auto& [fault, hosts] : by_fault) parts.push_back(fmt::format("{} ({})", fold_hosts(hosts), fault));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Who reaches each address of node 0, and who does not.
void add_table(const ReachFacts& facts, const std::vector<ReachRow>& rows, std::vector<std::string>& lines) {
  lines.push_back(
      fmt::format("no address of node 0 ({}) is reached from all hosts, at port {}:", facts.first_host, facts.port));
  for (std::size_t i = 0; i < facts.addresses.size(); ++i) {
    std::vector<std::string> reaching;
    HostsByFault missing;
    for (const ReachRow& row : rows) {
      const std::string fault = fault_of(row, i);
      (fault.empty() ? reaching : missing[fault]).push_back(row.host);
    }
    const std::string& shown_one = i < facts.shown.size() ? facts.shown[i] : facts.addresses[i];
    const std::string by = reaching.empty() ? "from no host" : "from " + fold_hosts(reaching);
    lines.push_back(fmt::format("{} is reached {}; not from {}", shown_one, by, fold_by_fault(missing)));
  }
}

}  // namespace

Status check_network(const std::string& network) {
  if (network.find_first_of("/:") == std::string::npos || parse_subnet(network)) return {};
  return usage_error("expected a network as 10.1.0.0/16, an address, or the name of an interface as ib0");
}

Result<std::vector<std::string>> on_network(const std::vector<std::string>& addresses,
                                            const std::vector<std::string>& interfaces, const std::string& network) {
  if (network.empty()) return addresses;
  const auto subnet = parse_subnet(network);
  std::vector<std::string> fitting;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const bool named = i < interfaces.size() && interfaces[i] == network;
    if (subnet ? contains(*subnet, addresses[i]) : named) fitting.push_back(addresses[i]);
  }
  if (!fitting.empty()) return fitting;
  std::vector<std::string> there;
  for (std::size_t i = 0; i < addresses.size(); ++i)
    there.push_back(i < interfaces.size() ? fmt::format("{} {}", interfaces[i], addresses[i]) : addresses[i]);
  return usage_error(fmt::format("nothing there is on the network {} (--network); it has {}", shown(network),
                                 there.empty() ? "no network" : fmt::format("{}", fmt::join(there, ", "))));
}

AddressSearch::AddressSearch(std::vector<std::string> addresses, bool on_one_machine) : asked_(std::move(addresses)) {
  if (on_one_machine) more_ = std::exchange(asked_, {"127.0.0.1"});
}

bool AddressSearch::ask_for_more() {
  if (more_.empty()) return false;
  for (std::string& address : std::exchange(more_, {})) asked_.push_back(std::move(address));
  return true;
}

std::optional<std::string> choose_address(const std::vector<std::string>& addresses,
                                          const std::vector<ReachRow>& rows) {
  for (std::size_t i = 0; i < addresses.size(); ++i)
    if (std::all_of(rows.begin(), rows.end(), [i](const ReachRow& row) { return fault_of(row, i).empty(); }))
      return addresses[i];
  return std::nullopt;
}

std::vector<std::string> shown_addresses(const std::vector<std::string>& addresses, const NodeReady& first) {
  std::vector<std::string> texts;
  texts.reserve(addresses.size());
  for (const std::string& address : addresses) {
    const auto known = std::find(first.addresses.begin(), first.addresses.end(), address);
    const auto place = static_cast<std::size_t>(known - first.addresses.begin());
    const bool named = place < first.interfaces.size() && !first.interfaces[place].empty();
    texts.push_back(named ? fmt::format("{} {}", without_controls(first.interfaces[place], longest_fault), address)
                          : address);
  }
  return texts;
}

std::vector<std::string> explain_reach(const ReachFacts& facts, const std::vector<ReachRow>& rows) {
  if (facts.addresses.empty()) return {fmt::format("{} (node 0) {}", facts.first_host, no_network)};
  const bool mixed = std::any_of(rows.begin(), rows.end(), [&](const ReachRow& row) {
    const std::size_t reached = reached_by(row, facts.addresses.size());
    return reached > 0 && reached < facts.addresses.size();
  });
  HostsByFault by_fault;
  for (const ReachRow& row : rows) {
    std::string faults = faults_of(row, facts);
    const bool in_table = mixed && reached_by(row, facts.addresses.size()) > 0;
    if (!faults.empty() && !in_table) by_fault[std::move(faults)].push_back(row.host);
  }
  std::vector<std::string> lines;
  for (const auto& [faults, hosts] : by_fault)
    lines.push_back(fmt::format("{} cannot reach node 0 ({}) at {}", fold_hosts(hosts), facts.first_host, faults));
  if (mixed) add_table(facts, rows, lines);
  lines.emplace_back("a firewall between the hosts? --network chooses another network, --master-port the port");
  return lines;
}

std::vector<HostProblem> reach_problems(const ReachFacts& facts, const std::vector<ReachRow>& rows) {
  if (facts.addresses.empty()) return {{facts.first_host, no_network, 1}};
  std::vector<HostProblem> problems;
  for (const ReachRow& row : rows)
    if (const std::string faults = faults_of(row, facts); !faults.empty())
      problems.push_back({row.host, fmt::format("cannot reach node 0 ({}) at {}", facts.first_host, faults), 1});
  return problems;
}

}  // namespace launch
