#include "launch/core/session/job_asks.hpp"

#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/session/dialogs.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration to_join_in = 30s;                              // for a store that all nodes connect to at once
constexpr std::size_t answers_at_once = 100;                      // of which a store's reply may be made
constexpr JsonBounds asked_bounds{.size = 8 * most_asked_bytes};  // with all that JSON must escape
constexpr std::size_t longest_fault = 200;
constexpr std::string_view over_text = R"({"over": true})";
constexpr std::string_view too_long = "its answer is longer than 64 KiB";

std::string ask_wire(const nlohmann::json& object) {
  return object.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

struct AskOnWire {
  NodeRank from{};
  std::string text;
};

// nullopt: nobody asks that, or nobody waits for an answer any more.
std::optional<AskOnWire> read_ask(std::string_view text) {
  const JsonValue object = read_json(text, asked_bounds);
  const auto from = object["from"].whole(0, std::numeric_limits<int>::max());
  auto asked = object["text"].text();
  if (!from || !asked) return std::nullopt;
  return AskOnWire{NodeRank(*from), *std::move(asked)};
}

std::string ask_on_wire(NodeRank from, std::string unique, std::string text) {
  nlohmann::json object = nlohmann::json::object();
  object["from"] = from.value;
  object["id"] = std::move(unique);
  object["text"] = std::move(text);
  return ask_wire(object);
}

std::string answer_on_wire(std::string text) {
  nlohmann::json object = nlohmann::json::object();
  if (text.size() > most_asked_bytes) {
    object["fault"] = too_long;
  } else {
    object["text"] = std::move(text);
  }
  return ask_wire(object);
}

NodeAnswer read_answer(NodeRank node, std::string_view text) {
  const JsonValue object = read_json(text, asked_bounds);
  if (auto answered = object["text"].text()) return {node, *std::move(answered), ""};
  const std::string fault = object["fault"].text(longest_fault).value_or("its answer cannot be read");
  return {node, "", without_controls(fault, longest_fault)};
}

}  // namespace

Time JobAsks::quickly() const { return later(stage_.moment(), 5 * quick_answer); }

void JobAsks::begin(Place place) {
  stop();
  if (!works_ || place.nnodes < 2) return;
  place_ = std::move(place);
  next_ = 1;
  swept_ = 0;
  hearing_.start(hear());
}

void JobAsks::stop() {
  hearing_.give_up();
  asking_.give_up();
  link_.reset();
  place_.reset();
  asked_.clear();
  replies_.clear();
  for (const auto& [ticket, id] : std::exchange(asks_, {})) stage_.act(JobAnswered{id, {}});
}

// ---- what others ask

Talk<void> JobAsks::hear() {
  auto connected = co_await connect_quietly(stage_, place_->store, later(stage_.moment(), to_join_in));
  if (!connected) co_return;
  link_.emplace(*std::move(connected));
  Status heard;
  while (heard) heard = co_await read_next();
  link_.reset();
}

// Returns as soon as there is something to do: somebody asks, or this node has an answer.
Talk<Status> JobAsks::read_next() {
  auto sent = co_await send_replies();
  if (!sent) co_return sent.error();
  const KeyList key(1, ask_key(place_->prefix, next_));
  Operation wait = AwaitKeys{key};
  auto waited = co_await link_->perform(std::move(wait), never);
  if (!waited) co_return waited.error();
  if (std::holds_alternative<WaitExpired>(*waited)) co_return Status();
  auto got = co_await link_->get(key, quickly());
  if (!got) co_return got.error();
  const std::uint64_t number = next_++;
  auto asked = read_ask(got->at(0));
  if (!asked || asked->from == place_->own) co_return Status();
  asked_.emplace(++tickets_, number);
  stage_.act(Asked{tickets_, std::move(asked->text)});
  co_return Status();
}

void JobAsks::answer(const AnswerAsk& event) {
  const auto asked = asked_.extract(event.number);
  if (!asked || !link_) return;
  replies_.push_back({asked.mapped(), event.text});
  link_->wake();
}

// The node that asks says that this is over before it removes the answers. So an answer that it could not remove is
// followed by a look that shows that this is over.
Talk<Status> JobAsks::send_replies() {
  while (!replies_.empty()) {
    Reply reply = std::move(replies_.front());
    replies_.pop_front();
    const std::string key = answer_key(place_->prefix, reply.number, place_->own.value);
    auto set = co_await link_->set(key, answer_on_wire(std::move(reply.text)), quickly());
    if (!set) co_return set.error();
    const KeyList what(1, ask_key(place_->prefix, reply.number));
    auto got = co_await link_->get(what, quickly());
    if (!got) co_return got.error();
    if (read_ask(got->at(0))) continue;
    Operation remove = DeleteKeys{KeyList(1, key)};
    auto removed = co_await link_->perform(std::move(remove), quickly());
    if (!removed) co_return removed.error();
  }
  co_return Status();
}

// ---- what this node asks

void JobAsks::ask(const AskJob& event) {
  if (!place_) return stage_.act(JobAnswered{event.id, {}});
  if (event.text.size() > most_asked_bytes)
    return stage_.act(JobAnswered{event.id, others_with("it was not asked: the text is longer than 64 KiB")});
  asks_.emplace(++tickets_, event.id);
  asking_.start(ask_others(tickets_, event));
}

Talk<void> JobAsks::ask_others(Ticket ticket, AskJob event) {
  std::string missing = fmt::format("no answer in {}", to_text(event.patience));
  const std::uint64_t id = event.id;
  auto texts = co_await gather(std::move(event));
  asks_.erase(ticket);
  std::vector<NodeAnswer> answers;
  if (texts) answers = answers_of(*texts, missing);
  stage_.act(JobAnswered{id, std::move(answers)});
}

// The answers of launch's nodes, empty if there is none. An error: the store is lost.
Talk<Result<JobAsks::Texts>> JobAsks::gather(AskJob event) {
  const Time deadline = later(stage_.moment(), event.patience);
  auto link = co_await connect_quietly(stage_, place_->store, deadline);
  if (!link) co_return link.error();
  link->set_patience(quick_answer);
  const Time soon = later(deadline, quick_answer);
  std::vector<NodeRank> nodes = co_await find_launch_nodes(*link, soon);
  const auto own = std::find(nodes.begin(), nodes.end(), place_->own);
  if (own == nodes.end()) co_return Error{ErrorCode::closed, "this node's claim is gone"};
  nodes.erase(own);
  if (nodes.empty()) co_return Texts();
  auto number = co_await put(*link, std::move(event.text), soon);
  if (!number) co_return number.error();
  AwaitKeys answers;
  for (const NodeRank node : nodes) answers.keys.push_back(answer_key(place_->prefix, *number, node.value));
  Operation wait = std::move(answers);
  auto waited = co_await link->perform(std::move(wait), deadline);
  if (!waited) co_return waited.error();
  auto texts = co_await take_answers(*link, *number, nodes);
  co_await clear(*link, *number, std::move(nodes));
  const bool all =
      texts && std::none_of(texts->begin(), texts->end(), [](const auto& one) { return one.second.empty(); });
  if (all) co_await sweep(*link, *number);
  co_return texts;
}

Talk<std::vector<NodeRank>> JobAsks::find_launch_nodes(StoreLink& link, Time deadline) {
  if (place_->launch_nodes) co_return *place_->launch_nodes;
  co_return co_await claimed_nodes(link, place_->prefix, place_->nnodes, deadline);
}

// Under the first number that is free. No two texts are equal, so what is there then tells who was first.
Talk<Result<std::uint64_t>> JobAsks::put(StoreLink& link, std::string text, Time deadline) {
  std::string unique = fmt::format("{:016x}", stage_.random().next());
  const std::string asked = ask_on_wire(place_->own, std::move(unique), std::move(text));
  for (std::uint64_t number = next_;; ++number) {
    Operation write = CompareSet{ask_key(place_->prefix, number), "", asked};
    auto outcome = co_await link.perform(std::move(write), deadline);
    if (!outcome) co_return outcome.error();
    if (std::get<Values>(*outcome).values.at(0) == asked) co_return number;
  }
}

Talk<Result<JobAsks::Texts>> JobAsks::take_answers(StoreLink& link, std::uint64_t number, std::vector<NodeRank> nodes) {
  KeyList keys;
  for (const NodeRank node : nodes) keys.push_back(answer_key(place_->prefix, number, node.value));
  auto there = co_await link.check(keys, quickly());
  if (!there) co_return there.error();
  Texts texts;
  std::vector<NodeRank> came;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    texts.emplace(nodes[i], "");
    if (there->at(i)) came.push_back(nodes[i]);
  }
  for (std::size_t begin = 0; begin < came.size(); begin += answers_at_once) {
    const std::size_t end = std::min(begin + answers_at_once, came.size());
    KeyList some;
    for (std::size_t i = begin; i < end; ++i) some.push_back(answer_key(place_->prefix, number, came[i].value));
    auto got = co_await link.get(std::move(some), quickly());
    if (!got) co_return got.error();
    for (std::size_t i = begin; i < end; ++i) texts[came[i]] = std::move(got->at(i - begin));
  }
  co_return texts;
}

// What was asked stays, so that slow nodes find the numbers behind it, but not its text. An error means nothing here.
Talk<void> JobAsks::clear(StoreLink& link, std::uint64_t number, std::vector<NodeRank> nodes) {
  (void)co_await link.set(ask_key(place_->prefix, number), std::string(over_text), quickly());
  DeleteKeys answers;
  for (const NodeRank node : nodes) answers.keys.push_back(answer_key(place_->prefix, number, node.value));
  Operation remove = std::move(answers);
  (void)co_await link.perform(std::move(remove), quickly());
}

// All nodes have read on to this number, so none will look for those before it.
Talk<void> JobAsks::sweep(StoreLink& link, std::uint64_t number) {
  DeleteKeys old;
  for (; swept_ + 1 < std::min(number, next_); ++swept_) old.keys.push_back(ask_key(place_->prefix, swept_ + 1));
  if (old.keys.empty()) co_return;
  Operation remove = std::move(old);
  (void)co_await link.perform(std::move(remove), quickly());
}

std::vector<NodeAnswer> JobAsks::others_with(const std::string& fault) const {
  std::vector<NodeAnswer> answers;
  for (NodeRank node; node.value < place_->nnodes; ++node.value)
    if (node != place_->own) answers.push_back({node, "", fault});
  return answers;
}

// `missing`: what is said of one of launch's nodes that has not answered. A node that is not in `texts` is torchrun's.
std::vector<NodeAnswer> JobAsks::answers_of(const Texts& texts, const std::string& missing) const {
  std::vector<NodeAnswer> answers = others_with(std::string(torchruns_fault));
  for (NodeAnswer& answer : answers) {
    const auto text = texts.find(answer.node);
    if (text == texts.end()) continue;
    answer.fault = missing;
    if (!text->second.empty()) answer = read_answer(answer.node, text->second);
  }
  return answers;
}

}  // namespace launch
