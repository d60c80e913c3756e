#include "launch/core/cluster/pmi_talk.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/start_values.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

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

void add_notice(const std::string& text, ClusterStart& start) {
  start.notice += (start.notice.empty() ? "" : "; ") + text;
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
      return fmt::format("cmd=put kvsname={} key={} value={}\n", space_, reach_key, to_text(*own_));
    case Step::barrier:
      return "cmd=barrier_in\n";
    case Step::get:
      return fmt::format("cmd=get kvsname={} key={}\n", space_, reach_key);
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

Status add_answer(const Result<RankAnswer>& found, ClusterStart& start) {
  const std::string from =
      fmt::format("the {} server of {}", start.server == RankServer::pmix ? "PMIx" : "PMI", start.starter);
  if (!found && found.error().code != ErrorCode::closed) return found.error();
  if (!found) {
    start.asked = start.server == RankServer::pmi;  // the descriptor is closed: no worker can be this rank
    start.host_hint = fmt::format("{} cannot be asked: {}; {}", from, found.error().message, start.host_hint);
    add_notice(fmt::format("{} cannot be asked, so node 0 is looked for without it: {}", from, found.error().message),
               start);
    start.server = RankServer::none;
    return {};
  }
  const RankAnswer& answer = *found;
  start.host = {answer.host, from};
  start.port = {answer.port, from};
  start.row.clear();  // it is free
  start.asked = true;
  if (start.id.empty() && !answer.id.empty()) {
    start.id = answer.id;
    start.id_from = from;
  }
  return start.knows_places || answer.map.empty() ? Status() : add_map(answer.map, start);
}

Status add_map(std::string_view map, ClusterStart& start) {
  const int task = start.node_rank.value.value;
  const auto mapped = place_by_map(map, task, start.nodes.value);
  if (!mapped) return mapped.error();
  start.knows_places = true;
  start.place.reset();
  // One rank on this node may be one of several on another: then each is a worker, as the others think, too.
  if (mapped->place.nodes == start.nodes.value) return {};
  start.place = mapped->place;
  if (mapped->rank == task) return {};
  start.node_rank.value = NodeRank(mapped->rank);
  add_notice(fmt::format("{} has dealt the ranks out in another order than node by node, so its rank {} is rank {}",
                         start.starter, task, mapped->rank),
             start);
  return {};
}

}  // namespace launch
