#include "launch/core/cluster/pmi_talk.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/start_values.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::string_view key = "launch.0";
constexpr std::size_t most_addresses = 16;
constexpr std::size_t longest_value = 900;  // servers take 1,024

using Fields = std::map<std::string_view, std::string_view>;

Fields fields_of(std::string_view line) {
  Fields fields;
  for (const std::string_view word : split(trim(line), ' '))
    if (const auto equals = word.find('='); equals != std::string_view::npos)
      fields[word.substr(0, equals)] = word.substr(equals + 1);
  return fields;
}

std::string_view field(const Fields& fields, std::string_view name) {
  const auto it = fields.find(name);
  return it == fields.end() ? std::string_view() : it->second;
}

// "61003/n1/10.0.0.1,10.1.0.1": as many addresses as fit.
std::string text_of(const Reach& reach) {
  std::string text = fmt::format("{}/{}/", reach.port, reach.hostname);
  for (std::size_t i = 0; i < std::min(reach.addresses.size(), most_addresses); ++i)
    if (text.size() + reach.addresses[i].size() < longest_value) text += (i == 0 ? "" : ",") + reach.addresses[i];
  return text;
}

std::optional<Reach> parse_reach(std::string_view text) {
  const auto parts = split(text, '/');
  if (parts.size() != 3 || text.size() > 1024) return std::nullopt;
  const auto port = parse_int(parts[0]);
  if (!port || *port < 1 || *port > 65'535 || parts[1].empty()) return std::nullopt;
  Reach reach{std::string(parts[1]), {}, static_cast<std::uint16_t>(*port)};
  for (const std::string_view address : split(parts[2], ','))
    if (!address.empty() && reach.addresses.size() < most_addresses) reach.addresses.emplace_back(address);
  return reach;
}

// "(0,3,2)": from a node on, so many nodes, so many ranks on each.
using Block = std::array<int, 3>;

// Below 0: nonsense.
std::optional<Block> parse_block(std::string_view text) {
  const auto numbers = split(text, ',');
  if (numbers.size() != 3) return std::nullopt;
  Block block{};
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto number = parse_int(numbers[i]);
    if (!number || *number < (i == 0 ? 0 : 1) || *number > most_cluster_nodes) return std::nullopt;
    block[i] = *number;
  }
  return block;
}

std::optional<std::vector<Block>> parse_map(std::string_view map) {
  constexpr std::string_view begin = "(vector,";
  if (!map.starts_with(begin) || !map.ends_with(')')) return std::nullopt;
  map = map.substr(begin.size(), map.size() - begin.size() - 1);
  std::vector<Block> blocks;
  while (map.starts_with('(')) {
    const auto end = map.find(')');
    const auto block = end == std::string_view::npos ? std::nullopt : parse_block(map.substr(1, end - 1));
    if (!block) return std::nullopt;
    blocks.push_back(*block);
    map.remove_prefix(end + 1);
    if (map.starts_with(",(")) map.remove_prefix(1);
  }
  return map.empty() && !blocks.empty() ? std::optional(std::move(blocks)) : std::nullopt;
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

std::string PmiTalk::next() const {
  switch (step_) {
    case Step::init:
      return "cmd=init pmi_version=1 pmi_subversion=1\n";
    case Step::space:
      return "cmd=get_my_kvsname\n";
    case Step::map:
      return fmt::format("cmd=get kvsname={} key=PMI_process_mapping\n", space_);
    case Step::put:
      return fmt::format("cmd=put kvsname={} key={} value={}\n", space_, key, text_of(*own_));
    case Step::barrier:
      return "cmd=barrier_in\n";
    case Step::get:
      return fmt::format("cmd=get kvsname={} key={}\n", space_, key);
    case Step::finalize:
    case Step::done:
      break;
  }
  return "cmd=finalize\n";
}

Status PmiTalk::take(std::string_view line) {
  static constexpr std::array<std::string_view, 7> answers{
      "response_to_init", "my_kvsname", "get_result", "put_result", "barrier_out", "get_result", "finalize_ack"};
  const Fields fields = fields_of(line);
  const auto rc = field(fields, "rc");
  const bool failed = !rc.empty() && rc != "0";
  const bool may_fail = step_ == Step::map;  // a map that is too long is left out
  if (done() || field(fields, "cmd") != answers[static_cast<std::size_t>(step_)] || (failed && !may_fail))
    return protocol_error(
        fmt::format("the PMI server answered {} to {}", shown(beginning_of(line, 80)), shown(trim(next()))));
  switch (step_) {
    case Step::space:
      space_ = field(fields, "kvsname");
      break;
    case Step::map:
      if (!failed) map_ = field(fields, "value");
      if (!own_) step_ = Step::put;  // which is rank 0's alone
      break;
    case Step::get: {
      auto reach = parse_reach(field(fields, "value"));
      if (!reach) return protocol_error("rank 0 did not tell where it can be reached; is it another program?");
      reach_ = *std::move(reach);
      break;
    }
    default:
      break;
  }
  step_ = static_cast<Step>(static_cast<int>(step_) + 1);
  return {};
}

Result<MappedPlace> place_by_map(std::string_view map, int task, int tasks) {
  const auto blocks = parse_map(map);
  std::vector<int> order;         // the nodes, each at its first rank
  std::map<int, int> counted_on;  // ranks so far, by node
  std::optional<TaskPlace> place;
  int rank = 0;
  // A map may be shorter than the job: then it is dealt out again from its beginning.
  while (blocks && rank < tasks)
    for (const auto& [first, nodes, ranks] : *blocks)
      for (int node = first; node < first + nodes; ++node)
        for (int i = 0; i < ranks && rank < tasks; ++i, ++rank) {
          const int local = counted_on[node]++;
          if (local == 0) order.push_back(node);
          if (rank == task) place = TaskPlace{local, 0, NodeRank(node), 0};
        }
  if (!place) return protocol_error(fmt::format("the PMI server's map of ranks is {}", shown(beginning_of(map, 80))));
  const int own = place->node.value;
  place->local_tasks = counted_on[own];
  place->nodes = static_cast<int>(order.size());
  const auto at = std::find(order.begin(), order.end(), own);
  place->node = NodeRank(static_cast<int>(at - order.begin()));
  const auto add = [&](int before, int node) { return before + counted_on[node]; };
  return MappedPlace{*place, std::accumulate(order.begin(), at, place->local_task, add)};
}

Status add_pmi(const std::optional<PmiAnswer>& found, ClusterStart& start) {
  if (!found) {
    start.host_hint =
        "its PMI server has closed; has another program of this task used it, which is possible once? Give "
        "--master-addr";
    start.notice = fmt::format("the PMI server of this {} has closed, so node 0 is looked for without it",
                               start.place ? "task" : "node");
    return {};
  }
  const PmiAnswer& answer = *found;
  const std::string from = "the PMI server of " + start.starter;
  start.host = {answer.host, from};
  start.port = {answer.port, from};
  start.row.clear();  // it is free
  if (start.id.empty() && !answer.id.empty()) {
    start.id = answer.id;
    start.id_from = from;
  }
  if (start.knows_places || answer.map.empty()) return {};
  const int task = start.node_rank.value.value;
  const auto mapped = place_by_map(answer.map, task, start.nodes.value);
  if (!mapped) return mapped.error();
  start.knows_places = true;
  start.place.reset();
  // One rank on this node may be one of several on another: then each is a worker, as the others think, too.
  if (mapped->place.nodes == start.nodes.value) return {};
  start.place = mapped->place;
  if (mapped->rank == task) return {};
  start.node_rank.value = NodeRank(mapped->rank);
  start.notice = fmt::format("{} has dealt the ranks out in another order than node by node, so its rank {} is rank {}",
                             start.starter, task, mapped->rank);
  return {};
}

std::string choose_host(const Reach& reach, const OwnNetworks& own) {
  const auto is_its = [&](const std::string& address) { return contains(reach.addresses, address); };
  if (std::any_of(own.name_leads_to.begin(), own.name_leads_to.end(), is_its)) return reach.hostname;
  const auto is_own = [&](const std::string& address) { return contains(own.addresses, address); };
  const auto is_better = [&](const std::string& address) { return !is_own(address) && contains(own.near, address); };
  if (const auto it = std::find_if(reach.addresses.begin(), reach.addresses.end(), is_better);
      it != reach.addresses.end())
    return *it;
  if (const auto it = std::find_if_not(reach.addresses.begin(), reach.addresses.end(), is_own);
      it != reach.addresses.end())
    return *it;
  return reach.addresses.empty() ? reach.hostname : reach.addresses.front();
}

}  // namespace launch
