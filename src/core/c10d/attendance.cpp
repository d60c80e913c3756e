#include "launch/core/c10d/attendance.hpp"

#include "launch/core/base/json_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using Json = nlohmann::json;
using Milliseconds = std::chrono::milliseconds;

constexpr std::size_t longest_text = 2000;
constexpr std::size_t longest_read = 3 * longest_text;  // each byte that is not UTF-8 is written as three
constexpr std::size_t longest_attendance =
    std::size_t{64} * 1024;  // without a limit JSON could take seconds and much memory
constexpr std::size_t longest_news = std::size_t{8} * 1024 * 1024;  // it may name each torchrun agent among most_nodes
constexpr int most_nodes = 1'000'000;
constexpr int most_workers = 1'000'000'000;
constexpr int most_restarts = 1'000'000'000;
constexpr std::int64_t longest_time = std::int64_t{1000} * 3600 * 24 * 3650;

using Wish = Attendance::Wish;
constexpr std::array<std::pair<std::string_view, Wish>, 8> wishes = {{{"join", Wish::join},
                                                                      {"stay", Wish::stay},
                                                                      {"look", Wish::look},
                                                                      {"leave", Wish::leave},
                                                                      {"close", Wish::close},
                                                                      {"tell", Wish::tell},
                                                                      {"witness", Wish::witness},
                                                                      {"where", Wish::where}}};
constexpr std::array<std::pair<std::string_view, ErrorCode>, 4> refusals = {{{"closed", ErrorCode::closed},
                                                                             {"conflict", ErrorCode::conflict},
                                                                             {"protocol", ErrorCode::protocol},
                                                                             {"timeout", ErrorCode::timeout}}};

using Cause = RoundBroken::Cause;
constexpr std::array<std::pair<std::string_view, Cause>, 3> causes = {
    {{"change", Cause::change}, {"restart", Cause::restart}, {"loss", Cause::loss}}};

template <class Table, class Value>
std::string_view name_of(const Table& table, Value value) {
  for (const auto& [name, known] : table)
    if (known == value) return name;
  return table[0].first;
}

template <class Table>
std::optional<typename Table::value_type::second_type> named(const std::optional<std::string>& said,
                                                             const Table& table) {
  for (const auto& [name, value] : table)
    if (name == said) return value;
  return std::nullopt;
}

NodeDesc read_node(Needed& need, const JsonValue& json) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();  // as in the state
  return {need(json["addr"].text(longest_read)), need(json["pid"].whole64(0, most)),
          need(json["local_id"].whole64(0, most))};
}

Duration read_time(Needed& need, const JsonValue& json) { return Milliseconds(need(json.whole64(0, longest_time))); }

CommonSettings read_settings(Needed& need, const JsonValue& json) {
  CommonSettings settings;
  if (!json.present()) return settings;
  for (const auto& [name, value] : need(json.members())) settings.emplace_back(name, need(value.text()));
  return settings;
}

// The host of the store has a name without an address: it is known where that is.
StoreDoor read_door(Needed& need, const JsonValue& json) {
  StoreDoor door{{}, need(json["store"].text(longest_read))};
  if (!json["port"].present()) return door;
  door.at = {need(json["host"].text(longest_read)), static_cast<std::uint16_t>(need(json["port"].whole(1, 65535)))};
  return door;
}

// What is not there: there is no line.
LastRound read_last_round(Needed& need, const JsonValue& json) {
  LastRound last;
  if (!json.present()) return last;
  last.term = need(json["term"].whole(0, most_restarts));
  last.round = need(json["round"].whole64(0, std::numeric_limits<std::int64_t>::max() - 1));
  last.nnodes = need(json["nnodes"].whole(1, most_nodes));
  last.rank = NodeRank(need(json["rank"].whole(-1, last.nnodes)));
  last.host = NodeRank(need(json["host"].whole(-1, last.nnodes - 1)));
  if (const JsonValue host = json["host_node"]; host.present()) last.host_node = read_node(need, host);
  last.store = need(json["store"].text(longest_read));
  last.old = need(json["old"].whole(0, last.nnodes));
  last.missing = need(json["missing"].whole(0, most_nodes));
  if (const auto ended = json["ended"].list())
    for (const JsonValue& rank : *ended) last.ended.emplace_back(need(rank.whole(0, last.nnodes - 1)));
  const auto line = need(json["line"].list());
  for (std::size_t at = 0; at < std::min(line.size(), most_heirs); ++at)
    last.line.push_back({NodeRank(need(line[at]["rank"].whole(0, last.nnodes - 1))), read_node(need, line[at]["node"]),
                         read_door(need, line[at]["door"])});
  return last;
}

std::optional<Comeback> read_comeback(Needed& need, const JsonValue& json) {
  if (!json.present()) return std::nullopt;
  Comeback back;
  back.last = read_last_round(need, json["last"]);
  back.term = need(json["term"].whole(1, most_restarts));
  back.left = need(json["left"].whole(0, most_restarts));
  for (const JsonValue& rank : need(json["ended"].list())) back.ended.emplace_back(need(rank.whole(0, most_nodes)));
  back.wait = read_time(need, json["wait"]);
  if (const JsonValue limit = json["limit"]; limit.present()) back.limit = read_time(need, limit);
  if (const JsonValue ended = json["host_ended"]; ended.present()) back.host_ended = need(ended.flag());
  return back;
}

// `least`: of the term, which is 0 if the store has not moved.
MovedJob read_moved(Needed& need, const JsonValue& json, int least) {
  return {read_node(need, json["host"]), read_door(need, json["door"]), need(json["term"].whole(least, most_restarts))};
}

int read_restarts(Needed& need, const JsonValue& json) {
  return json.present() ? need(json.whole(0, most_restarts)) : 0;
}

Json to_object(const NodeDesc& node) { return {{"addr", node.addr}, {"pid", node.pid}, {"local_id", node.local_id}}; }

Json to_object(const StoreDoor& door) {
  Json json = {{"store", door.store}};
  if (door.at.port != 0) json.update({{"host", door.at.host}, {"port", door.at.port}});
  return json;
}

Json to_object(const LastRound& last) {
  Json json = {{"term", last.term},       {"round", last.round},     {"nnodes", last.nnodes},
               {"rank", last.rank.value}, {"host", last.host.value}, {"store", last.store},
               {"old", last.old},         {"missing", last.missing}, {"line", Json::array()}};
  if (!last.host_node.addr.empty()) json["host_node"] = to_object(last.host_node);
  for (const NodeRank rank : last.ended) json["ended"].push_back(rank.value);
  for (const Heir& heir : last.line)
    json["line"].push_back({{"rank", heir.rank.value}, {"node", to_object(heir.node)}, {"door", to_object(heir.door)}});
  return json;
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::int64_t in_milliseconds(Duration time) { return std::chrono::duration_cast<Milliseconds>(time).count(); }

Json to_object(const Comeback& back) {
  Json json = {{"last", to_object(back.last)},
               {"term", back.term},
               {"left", back.left},
               {"ended", Json::array()},
               {"wait", in_milliseconds(back.wait)}};
  for (const NodeRank rank : back.ended) json["ended"].push_back(rank.value);
  if (back.limit > Duration::zero()) json["limit"] = in_milliseconds(back.limit);
  if (back.limit > Duration::zero() || !back.host_ended) json["host_ended"] = back.host_ended;
  return json;
}

Json to_object(const MovedJob& job) {
  return {{"host", to_object(job.host)}, {"door", to_object(job.door)}, {"term", job.term}};
}

}  // namespace

Attendance visit(Wish wish, NodeDesc node) {
  Attendance said;
  said.wish = wish;
  said.node = std::move(node);
  said.member.local_world_size = 1;
  said.nodes = {1, 1};
  return said;
}

std::string to_json(const Attendance& said) {
  Json json = {{"wish", name_of(wishes, said.wish)},
               {"node", to_object(said.node)},
               {"role", said.member.role},
               {"workers", said.member.local_world_size},
               {"min_nodes", said.nodes.min},
               {"max_nodes", said.nodes.max},
               {"last_call", in_milliseconds(said.last_call)},
               {"silence", in_milliseconds(said.silence)},
               {"round", said.round},
               {"admits", said.admits}};
  for (const auto& [name, value] : said.common) json["settings"][name] = value;
  if (said.done) json["done"] = true;
  if (said.restarts > 0) json["restarts"] = said.restarts;
  if (!said.door.store.empty()) json["door"] = to_object(said.door);
  if (said.hosts) json["hosts"] = true;
  if (said.comeback) json["comeback"] = to_object(*said.comeback);
  if (said.moved) json["moved"] = to_object(*said.moved);
  if (said.anew) json["anew"] = true;
  if (said.lease > Duration::zero()) json["lease"] = in_milliseconds(said.lease);
  if (!said.reason.empty()) json["reason"] = said.reason.substr(0, longest_text);
  return dump(json);
}

Result<Attendance> parse_attendance(std::string_view text) {
  if (text.size() > longest_attendance)
    return protocol_error(
        fmt::format("an attendance of {} bytes is over the limit of {}", text.size(), longest_attendance));
  const JsonValue json = read_json(text, {.size = longest_attendance});
  if (!json.is_object()) return protocol_error("an attendance is no JSON object");
  Needed need;
  Attendance said;
  said.wish = need(named(json["wish"].text(), wishes));
  said.node = read_node(need, json["node"]);
  said.member = {NodeRank(), need(json["role"].text(longest_read)), need(json["workers"].whole(1, most_workers))};
  said.nodes = {need(json["min_nodes"].whole(1, most_nodes)), need(json["max_nodes"].whole(1, most_nodes))};
  said.last_call = read_time(need, json["last_call"]);
  said.silence = read_time(need, json["silence"]);
  said.round = need(json["round"].whole64(-1, std::numeric_limits<std::int64_t>::max()));
  said.admits = need(json["admits"].flag());
  said.common = read_settings(need, json["settings"]);
  if (const JsonValue reason = json["reason"]; reason.present()) said.reason = need(reason.text(longest_read));
  if (const JsonValue done = json["done"]; done.present()) said.done = need(done.flag());
  said.restarts = read_restarts(need, json["restarts"]);
  if (const JsonValue door = json["door"]; door.present()) said.door = read_door(need, door);
  if (const JsonValue hosts = json["hosts"]; hosts.present()) said.hosts = need(hosts.flag());
  said.comeback = read_comeback(need, json["comeback"]);
  if (said.wish == Wish::tell) said.moved = read_moved(need, json["moved"], 1);
  if (const JsonValue anew = json["anew"]; anew.present()) said.anew = need(anew.flag());
  if (const JsonValue lease = json["lease"]; lease.present()) said.lease = read_time(need, lease);
  if (!need.met() || said.nodes.min > said.nodes.max || said.node.addr.empty() || !is_launch(said.node))
    return protocol_error("an attendance lacks a field, or has one out of bounds");
  return said;
}

Error name_taken(const NodeDesc& node) {
  return {ErrorCode::conflict,
          fmt::format("another launch calls itself {}; give each a --local-addr of its own", to_text(node))};
}

std::optional<Error> find_contradiction(const Attendance& said, const NodeLimits& nodes, const CommonSettings& common) {
  const std::string node = to_text(said.node);
  if (said.nodes != nodes) return disagreement("--nnodes", node, to_text(said.nodes), to_text(nodes));
  return find_disagreement(node, said.common, common);
}

namespace {

struct NewsWriter {
  Json operator()(const RoundFormed& formed) const {
    Json json = {{"news", "formed"},
                 {"round", formed.round},
                 {"rank", formed.rank.value},
                 {"nnodes", formed.nnodes},
                 {"leader", to_object(formed.leader)},
                 {"torchrun", Json::array()}};
    for (const NodeRank rank : formed.torchrun) json["torchrun"].push_back(rank.value);
    if (const auto& own = formed.assignment) {
      json["base_rank"] = own->base_global_rank.value;
      json["world_size"] = own->world_size;
      json["base_role_rank"] = own->base_role_rank;
      json["role_world_size"] = own->role_world_size;
    }
    if (formed.restarts > 0) json["restarts"] = formed.restarts;
    if (!formed.succession.line.empty()) json["succession"] = to_object(formed.succession);
    for (const auto& [name, value] : formed.common) json["settings"][name] = value;
    return json;
  }
  Json operator()(const RoundBroken& broken) const {
    return {{"news", "broken"},
            {"reason", broken.reason.substr(0, longest_text)},
            {"cause", name_of(causes, broken.cause)},
            {"gone", broken.gone.value}};
  }
  Json operator()(const RoundWaits& waits) const {
    Json json = {{"news", "waits"}, {"arrived", waits.arrived}, {"spare", waits.spare}, {"begun", waits.begun}};
    if (waits.awaited > 0) json["awaited"] = waits.awaited;
    if (waits.patience) json["patience"] = in_milliseconds(*waits.patience);
    if (!waits.succession.line.empty()) json["succession"] = to_object(waits.succession);
    return json;
  }
  Json operator()(const RoundRefused& refused) const {
    Json json = {{"news", "refused"},
                 {"code", name_of(refusals, refused.error.code)},
                 {"reason", refused.error.message.substr(0, longest_text)},
                 {"spare", refused.spare}};
    if (refused.few) json["few"] = true;
    return json;
  }
  Json operator()(const RoundMoved& moved) const { return {{"news", "moved"}, {"moved", to_object(moved.job)}}; }
  Json operator()(const WillLeft&) const { return {{"news", "ended"}}; }
  Json operator()(const RendezvousEnded&) const { return {{"news", "ended"}}; }
};

RoundFormed read_formed(Needed& need, const JsonValue& json) {
  RoundFormed formed;
  formed.round = need(json["round"].whole64(0, std::numeric_limits<std::int64_t>::max()));
  formed.nnodes = need(json["nnodes"].whole(1, most_nodes));
  formed.rank = NodeRank(need(json["rank"].whole(0, formed.nnodes - 1)));
  formed.leader = read_node(need, json["leader"]);
  if (const auto ranks = json["torchrun"].list())
    for (const JsonValue& rank : *ranks) formed.torchrun.emplace_back(need(rank.whole(0, formed.nnodes - 1)));
  if (const JsonValue world_size = json["world_size"]; world_size.present())
    formed.assignment = Assignment{.group_rank = formed.rank,
                                   .group_world_size = formed.nnodes,
                                   .base_global_rank = GlobalRank(need(json["base_rank"].whole(0, most_workers))),
                                   .world_size = need(world_size.whole(1, most_workers)),
                                   .base_role_rank = need(json["base_role_rank"].whole(0, most_workers)),
                                   .role_world_size = need(json["role_world_size"].whole(1, most_workers))};
  formed.restarts = read_restarts(need, json["restarts"]);
  formed.succession = read_last_round(need, json["succession"]);
  formed.common = read_settings(need, json["settings"]);
  return formed;
}

RoundBroken read_broken(Needed& need, const JsonValue& json) {
  return {need(json["reason"].text(longest_read)), need(named(json["cause"].text(), causes)),
          NodeRank(need(json["gone"].whole(-1, most_nodes)))};
}

RoundWaits read_waits(Needed& need, const JsonValue& json) {
  RoundWaits waits{
      need(json["arrived"].whole(0, most_nodes)), need(json["spare"].flag()), {}, need(json["begun"].flag())};
  if (const JsonValue awaited = json["awaited"]; awaited.present()) waits.awaited = need(awaited.whole(0, most_nodes));
  waits.succession = read_last_round(need, json["succession"]);
  if (const JsonValue patience = json["patience"]; patience.present()) waits.patience = read_time(need, patience);
  return waits;
}

RoundRefused read_refused(Needed& need, const JsonValue& json) {
  RoundRefused refused{{need(named(json["code"].text(), refusals)), need(json["reason"].text(longest_read))},
                       need(json["spare"].flag())};
  if (const JsonValue few = json["few"]; few.present()) refused.few = need(few.flag());
  return refused;
}

}  // namespace

std::string to_json(const ElasticNews& news) { return dump(std::visit(NewsWriter{}, news)); }

Result<ElasticNews> parse_news(std::string_view text) {
  const JsonValue json = read_json(text, {.size = longest_news});
  if (!json.is_object()) return protocol_error("the answer of the store's host is no JSON object");
  Needed need;
  const std::string kind = need(json["news"].text(longest_read));
  ElasticNews news = RendezvousEnded{};
  if (kind == "formed") {
    news = read_formed(need, json);
  } else if (kind == "broken") {
    news = read_broken(need, json);
  } else if (kind == "waits") {
    news = read_waits(need, json);
  } else if (kind == "refused") {
    news = read_refused(need, json);
  } else if (kind == "moved") {
    news = RoundMoved{read_moved(need, json["moved"], 0)};
  } else if (kind != "ended") {
    return protocol_error("the store's host answers what this launch does not know");
  }
  if (!need.met()) return protocol_error("the answer of the store's host lacks a field, or has one out of bounds");
  return news;
}

}  // namespace launch
