#include "launch/core/c10d/attendance.hpp"

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
constexpr std::size_t longest_read = 3 * longest_text;  // each byte that is no UTF-8 is written as three
constexpr std::size_t longest_attendance = 64 * 1024;  // JSON of any size would take seconds and a lot of memory
constexpr std::int64_t most_nodes = 1'000'000;
constexpr std::int64_t most_workers = 1'000'000'000;
constexpr std::int64_t most_restarts = 1'000'000'000;
constexpr std::int64_t longest_time = std::int64_t{1000} * 3600 * 24 * 3650;

using Wish = Attendance::Wish;
constexpr std::array<std::pair<std::string_view, Wish>, 5> wishes = {
    {{"join", Wish::join}, {"stay", Wish::stay}, {"look", Wish::look}, {"leave", Wish::leave}, {"close", Wish::close}}};
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

// Takes an object apart; whatever is missing, of another kind or out of bounds makes the whole bad.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  std::int64_t number(const char* key, std::int64_t least, std::int64_t most) {
    const auto found = json_.find(key);
    return found == json_.end() ? bad(least) : number(*found, least, most);
  }
  std::int64_t number(const Json& json, std::int64_t least, std::int64_t most) {
    if (!json.is_number_integer()) return bad(least);
    const auto value = json.get<std::int64_t>();  // negative where it is too large for one
    if (json.is_number_unsigned() && value < 0) return bad(least);
    return value >= least && value <= most ? value : bad(least);
  }
  int count(const char* key, std::int64_t least, std::int64_t most) {
    return static_cast<int>(number(key, least, most));
  }
  Duration time(const char* key) { return Milliseconds(number(key, 0, longest_time)); }
  bool flag(const char* key) {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_boolean()) return bad(0) != 0;
    return found->get<bool>();
  }
  std::string text(const char* key) {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_string() || found->get_ref<const std::string&>().size() > longest_read) {
      bad(0);
      return "";
    }
    return found->get<std::string>();
  }
  template <class Table>
  auto name(const char* key, const Table& table) {
    const std::string said = text(key);
    for (const auto& [name, value] : table)
      if (name == said) return value;
    bad(0);
    return table[0].second;
  }
  NodeDesc node(const char* key) {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_object()) {
      bad(0);
      return {};
    }
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();  // as in the state
    Reader reader(*found);
    NodeDesc node{reader.text("addr"), reader.number("pid", 0, most), reader.number("local_id", 0, most)};
    good_ = good_ && reader.good_;
    return node;
  }
  CommonSettings settings(const char* key) {
    CommonSettings settings;
    const auto found = json_.find(key);
    if (found == json_.end()) return settings;
    if (!found->is_object()) {
      bad(0);
      return settings;
    }
    for (const auto& [name, value] : found->items()) {
      if (!value.is_string()) bad(0);
      settings.emplace_back(name, value.is_string() ? value.get<std::string>() : "");
    }
    return settings;
  }
  bool has(const char* key) const { return json_.contains(key); }
  bool good() const { return good_; }

 private:
  std::int64_t bad(std::int64_t instead) {
    good_ = false;
    return instead;
  }

  const Json& json_;
  bool good_ = true;
};

Json to_object(const NodeDesc& node) { return {{"addr", node.addr}, {"pid", node.pid}, {"local_id", node.local_id}}; }

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Result<Json> read_object(std::string_view text, const char* what) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return protocol_error(std::string(what) + " is no JSON object");
  return Result<Json>(boost::system::in_place_value, std::move(json));
}

std::int64_t in_milliseconds(Duration time) { return std::chrono::duration_cast<Milliseconds>(time).count(); }

}  // namespace

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
  if (!said.reason.empty()) json["reason"] = said.reason.substr(0, longest_text);
  return dump(json);
}

Result<Attendance> parse_attendance(std::string_view text) {
  if (text.size() > longest_attendance)
    return protocol_error(fmt::format("an attendance of {} bytes is over the limit of {}", text.size(),
                                      longest_attendance));
  const auto json = read_object(text, "an attendance");
  if (!json) return json.error();
  Reader reader(*json);
  Attendance said;
  said.wish = reader.name("wish", wishes);
  said.node = reader.node("node");
  said.member = {0, reader.text("role"), reader.count("workers", 1, most_workers)};
  said.nodes = {reader.count("min_nodes", 1, most_nodes), reader.count("max_nodes", 1, most_nodes)};
  said.last_call = reader.time("last_call");
  said.silence = reader.time("silence");
  said.round = reader.number("round", -1, std::numeric_limits<std::int64_t>::max());
  said.admits = reader.flag("admits");
  said.common = reader.settings("settings");
  if (reader.has("reason")) said.reason = reader.text("reason");
  if (reader.has("done")) said.done = reader.flag("done");
  if (reader.has("restarts")) said.restarts = reader.count("restarts", 0, most_restarts);
  if (!reader.good() || said.nodes.min > said.nodes.max || said.node.addr.empty() || !is_launch(said.node))
    return protocol_error("an attendance lacks a field, or has one out of bounds");
  return said;
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
                 {"rank", formed.rank},
                 {"nnodes", formed.nnodes},
                 {"leader", to_object(formed.leader)},
                 {"torchrun", formed.torchrun}};
    if (const auto& own = formed.assignment) {
      json["base_rank"] = own->base_global_rank;
      json["world_size"] = own->world_size;
      json["base_role_rank"] = own->base_role_rank;
      json["role_world_size"] = own->role_world_size;
    }
    if (formed.restarts > 0) json["restarts"] = formed.restarts;
    return json;
  }
  Json operator()(const RoundBroken& broken) const {
    return {{"news", "broken"},
            {"reason", broken.reason.substr(0, longest_text)},
            {"cause", name_of(causes, broken.cause)},
            {"gone", broken.gone}};
  }
  Json operator()(const RoundWaits& waits) const {
    return {{"news", "waits"}, {"arrived", waits.arrived}, {"spare", waits.spare}, {"begun", waits.begun}};
  }
  Json operator()(const RoundRefused& refused) const {
    return {{"news", "refused"},
            {"code", name_of(refusals, refused.error.code)},
            {"reason", refused.error.message.substr(0, longest_text)},
            {"spare", refused.spare}};
  }
  Json operator()(const WillLeft&) const { return {{"news", "ended"}}; }
  Json operator()(const RendezvousEnded&) const { return {{"news", "ended"}}; }
};

RoundFormed read_formed(Reader& reader, const Json& json) {
  RoundFormed formed;
  formed.round = reader.number("round", 0, std::numeric_limits<std::int64_t>::max());
  formed.nnodes = reader.count("nnodes", 1, most_nodes);
  formed.rank = reader.count("rank", 0, formed.nnodes - 1);
  formed.leader = reader.node("leader");
  if (const auto ranks = json.find("torchrun"); ranks != json.end() && ranks->is_array())
    for (const Json& rank : *ranks)
      formed.torchrun.push_back(static_cast<int>(reader.number(rank, 0, formed.nnodes - 1)));
  if (reader.has("world_size"))
    formed.assignment = Assignment{formed.rank,
                                   formed.nnodes,
                                   reader.count("base_rank", 0, most_workers),
                                   reader.count("world_size", 1, most_workers),
                                   reader.count("base_role_rank", 0, most_workers),
                                   reader.count("role_world_size", 1, most_workers)};
  if (reader.has("restarts")) formed.restarts = reader.count("restarts", 0, most_restarts);
  return formed;
}

}  // namespace

std::string to_json(const ElasticNews& news) { return dump(std::visit(NewsWriter{}, news)); }

Result<ElasticNews> parse_news(std::string_view text) {
  const auto json = read_object(text, "the answer of the store's host");
  if (!json) return json.error();
  Reader reader(*json);
  const std::string kind = reader.text("news");
  ElasticNews news = RendezvousEnded{};
  if (kind == "formed") {
    news = read_formed(reader, *json);
  } else if (kind == "broken") {
    news = RoundBroken{reader.text("reason"), reader.name("cause", causes), reader.count("gone", -1, most_nodes)};
  } else if (kind == "waits") {
    news = RoundWaits{reader.count("arrived", 0, most_nodes), reader.flag("spare"), {}, reader.flag("begun")};
  } else if (kind == "refused") {
    news = RoundRefused{{reader.name("code", refusals), reader.text("reason")}, reader.flag("spare")};
  } else if (kind != "ended") {
    return protocol_error("the store's host answers what this launch does not know");
  }
  if (!reader.good()) return protocol_error("the answer of the store's host lacks a field, or has one out of bounds");
  return news;
}

}  // namespace launch
