#include "launch/core/store/etcd_operation.hpp"

#include "launch/core/base/base64.hpp"
#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/store/counter.hpp"
#include "launch/core/store/keys.hpp"
#include "launch/core/store/store_wire.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view if_absent = "&prevExist=false";
constexpr int most_troubles = 10;
constexpr Duration first_pause = 50ms;
constexpr Duration longest_pause = 1s;
constexpr std::size_t longest_reason = 200;
constexpr JsonBounds answer_bounds{.size = 2 * max_payload_bytes};

// Codes of etcd's API v2.
constexpr int key_not_found = 100;
constexpr int compare_failed = 101;
constexpr int key_exists = 105;
constexpr int history_cleared = 401;

Error strange(std::string what) { return protocol_error(std::move(what)); }

Duration pause_after(int times) {
  return std::min<Duration>(first_pause * (1 << std::min(times - 1, 10)), longest_pause);
}

bool is_trouble(const EtcdAnswer& answer) { return answer.status >= 500 && answer.status <= 599; }

}  // namespace

struct EtcdOperation::Finding {
  enum class Kind {
    done,     // what was asked has been done
    absent,   // there is no such key
    refused,  // the condition of a write does not hold
    missed,   // a watch came too late
  };
  Kind kind = Kind::done;
  std::string value{};     // what the key holds now, as it was set
  std::string stored{};    // the same, as etcd has it
  std::int64_t index = 0;  // of etcd's history
};

EtcdOperation::EtcdOperation(Operation operation, EtcdLayout layout)
    : operation_(std::move(operation)), layout_(std::move(layout)) {}

EtcdStep EtcdOperation::start() { return next(); }

EtcdStep EtcdOperation::next() {
  return std::visit([this](const auto& op) { return next(op); }, operation_);
}

EtcdStep EtcdOperation::on(const EtcdAnswer& answer) {
  if (is_trouble(answer)) return trouble(answer);
  troubles_ = 0;
  auto found = read_answer(answer);
  if (!found) return found.error();
  return std::visit([&](const auto& op) { return take(op, *std::move(found)); }, operation_);
}

EtcdStep EtcdOperation::resume() { return troubles_ > 0 ? EtcdStep(sent_) : next(); }

EtcdStep EtcdOperation::expire() {
  if (!sent_.watches) return Outcome(WaitExpired{});
  over_ = true;
  return next();
}

// ---- what is asked

EtcdStep EtcdOperation::next(const SetKeys& op) {
  if (at_ == op.entries.size()) return Outcome(Done{});
  const auto& entry = op.entries[at_];
  if (layout_.is_folder(entry.first)) return keep_folder(entry.first, looks_, op.lasts);
  return write(entry, "", op.lasts);
}

EtcdStep EtcdOperation::next(const CompareSet& op) {
  const std::string absent = layout_.absent_value(op.key);
  const bool plain = layout_.is_plain(op.key);
  const bool removes = plain && op.desired == absent;
  // The text of an absent value is none that etcd holds.
  if (removes && (!layout_.can_remove(op.key) || op.expected == absent)) looks_ = true;
  if (looks_) return read(op.key);
  if (op.expected == absent) return write({op.key, op.desired}, if_absent, op.lasts);
  const std::string held = percent_encoded(encoded(op.key, op.expected));
  if (!removes) return write({op.key, op.desired}, fmt::format("&prevValue={}", held), op.lasts);
  key_ = op.key;
  return send({.method = Method::remove, .target = fmt::format("{}?prevValue={}", layout_.target(op.key), held)});
}

EtcdStep EtcdOperation::next(const AddNumber& op) {
  if (looks_) return read(op.key);
  if (!held_) number_ = op.amount;
  const std::string condition = held_ ? fmt::format("&prevValue={}", percent_encoded(*held_)) : std::string(if_absent);
  (void)write({op.key, std::to_string(number_)}, condition, {});
  sent_.may_repeat = false;  // it would count twice
  return sent_;
}

EtcdStep EtcdOperation::next(const GetKeys& op) {
  if (at_ == op.keys.size()) return Outcome(Values{std::move(values_)});
  return read(op.keys[at_]);
}

EtcdStep EtcdOperation::next(const CheckKeys& op) {
  if (at_ == op.keys.size()) return Outcome(Presence{std::move(present_)});
  return read(op.keys[at_]);
}

EtcdStep EtcdOperation::next(const AwaitKeys& op) {
  if (at_ == op.keys.size()) return Outcome(Done{});
  if (op.keys[at_] == never_key) return EtcdRest{};
  return read(op.keys[at_]);
}

EtcdStep EtcdOperation::next(const Attend& /*op*/) { return strange("knows no attendance"); }

// An etcd is for many jobs, so that the others say nothing about this one; and nobody removes all keys of it.
EtcdStep EtcdOperation::next(const ListKeys& /*op*/) { return Outcome(Values{}); }

EtcdStep EtcdOperation::next(const DeleteKeys& op) {
  if (at_ == op.keys.size()) return Outcome(Number{number_});
  key_ = op.keys[at_];
  return send({.method = Method::remove, .target = layout_.target(key_)});
}

EtcdStep EtcdOperation::next(const LeaveWill& /*op*/) { return strange("knows no wills"); }

// ---- what an answer means

EtcdStep EtcdOperation::take(const SetKeys& op, Finding found) {
  // Somebody has made the folder, or it has gone, between the two.
  if (layout_.is_folder(op.entries[at_].first) && found.kind != Finding::Kind::done) {
    looks_ = found.kind == Finding::Kind::refused;
    return next(op);
  }
  looks_ = false;
  if (found.kind != Finding::Kind::done) return strange("refuses to set a key");
  return move_on();
}

EtcdStep EtcdOperation::take(const CompareSet& op, Finding found) {
  using enum Finding::Kind;
  if (!looks_ && found.kind == done) return Outcome(Values{{op.desired}});
  if (!std::exchange(looks_, true)) {
    // Of an absent key the answer is what was expected; an absent state has a text of its own.
    if (found.kind == absent)
      return Outcome(Values{{layout_.is_plain(op.key) ? layout_.absent_value(op.key) : op.expected}});
    return next(op);
  }
  if (found.kind == done) return Outcome(Values{{std::move(found.value)}});
  if (layout_.is_plain(op.key)) return Outcome(Values{{layout_.absent_value(op.key)}});
  if (!op.expected.empty()) return Outcome(Values{{op.expected}});
  looks_ = false;  // somebody has removed it between the two
  return next(op);
}

EtcdStep EtcdOperation::take(const AddNumber& op, Finding found) {
  using enum Finding::Kind;
  if (!looks_ && found.kind == done) return Outcome(Number{number_});
  if (!std::exchange(looks_, false)) {
    looks_ = found.kind == refused;
    if (!looks_) held_.reset();  // somebody has removed it
    return next(op);
  }
  held_.reset();
  if (found.kind != done) return next(op);
  const auto number = leading_number(found.value);
  if (!number) return strange("holds something that is no number where nodes are counted");
  held_ = std::move(found.stored);
  number_ = wrapping_sum(*number, op.amount);
  return next(op);
}

EtcdStep EtcdOperation::take(const GetKeys& op, Finding found) {
  const bool there = found.kind == Finding::Kind::done;
  values_.push_back(there ? std::move(found.value) : layout_.absent_value(op.keys[at_]));
  return move_on();
}

EtcdStep EtcdOperation::take(const CheckKeys& /*op*/, Finding found) {
  present_.push_back(found.kind == Finding::Kind::done);
  return move_on();
}

EtcdStep EtcdOperation::take(const AwaitKeys& op, const Finding& found) {
  const bool watched = std::exchange(sent_.watches, false);
  if (watched && found.kind == Finding::Kind::missed) return EtcdPause{pause_after(++missed_)};
  if (watched) missed_ = 0;
  if (watched) return next(op);
  if (found.kind == Finding::Kind::done) return move_on();
  if (over_) return Outcome(WaitExpired{});
  EtcdRequest watch{.target = fmt::format("{}?wait=true&waitIndex={}", layout_.target(key_), found.index + 1)};
  watch.watches = true;
  return send(std::move(watch));
}

EtcdStep EtcdOperation::take(const Attend& op, Finding /*found*/) { return next(op); }

EtcdStep EtcdOperation::take(const ListKeys& op, Finding /*found*/) { return next(op); }

EtcdStep EtcdOperation::take(const DeleteKeys& /*op*/, Finding found) {
  if (found.kind == Finding::Kind::done) ++number_;
  return move_on();
}

EtcdStep EtcdOperation::take(const LeaveWill& op, Finding /*found*/) { return next(op); }

// ---- requests

EtcdStep EtcdOperation::send(EtcdRequest request) {
  sent_ = std::move(request);
  return sent_;
}

EtcdStep EtcdOperation::move_on() {
  ++at_;
  return next();
}

EtcdStep EtcdOperation::read(const std::string& key) {
  key_ = key;
  return send({.target = layout_.target(key)});
}

EtcdStep EtcdOperation::write(std::pair<std::string, std::string> entry, std::string_view condition, Duration lasts) {
  key_ = std::move(entry.first);
  std::string body =
      fmt::format("value={}{}{}", percent_encoded(encoded(key_, entry.second)), condition, layout_.lasts(key_, lasts));
  return send({.method = Method::put, .target = layout_.target(key_), .body = std::move(body)});
}

// Makes it, or lets it last longer.
EtcdStep EtcdOperation::keep_folder(const std::string& key, bool exists, Duration lasts) {
  key_ = key;
  std::string body = fmt::format("dir=true&prevExist={}{}", exists, layout_.lasts(key, lasts));
  return send({.method = Method::put, .target = layout_.target(key), .body = std::move(body)});
}

std::string EtcdOperation::encoded(const std::string& key, const std::string& value) const {
  return layout_.is_plain(key) ? value : encode_base64(value);
}

// ---- answers

Result<EtcdOperation::Finding> EtcdOperation::read_answer(const EtcdAnswer& answer) const {
  using enum Finding::Kind;
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max() - 1;
  // A watch ends so when its connection or its etcd ends.
  if (sent_.watches && answer.body.empty()) return Finding{missed};
  const JsonValue json = read_json(answer.body, answer_bounds);
  const std::int64_t index = json["index"].whole64(0, any).value_or(0);
  if (const auto code = json["errorCode"].whole(0, std::numeric_limits<int>::max())) {
    if (*code == key_not_found) return Finding{absent, {}, {}, index};
    if (*code == compare_failed || *code == key_exists) return Finding{refused, {}, {}, index};
    if (*code == history_cleared) return Finding{missed, {}, {}, index};
    const std::string reason = json["message"].text(longest_reason).value_or("");
    return strange(fmt::format("answers: {} (code {})", without_controls(reason, longest_reason), *code));
  }
  if (answer.status == 404)
    return strange(
        "does not serve the API v2, which torchrun's etcd rendezvous uses: etcd 3.4 and 3.5 serve it if "
        "they are started with --enable-v2, later ones do not have it");
  if (answer.status != 200 && answer.status != 201)
    return strange(fmt::format("answers with status {}", answer.status));
  if (!json["node"].is_object()) return strange("answers with what is no JSON of its API v2");
  if (layout_.is_folder(key_)) return Finding{done, {}, {}, index};
  if (json["node"]["dir"].flag().value_or(false)) return Finding{absent, {}, {}, index};
  const auto stored = json["node"]["value"].text();
  if (!stored) return Finding{};  // that of a key that was removed
  auto value = layout_.is_plain(key_) ? std::optional(*stored) : decode_base64(*stored);
  if (!value) return strange(fmt::format("holds what is not base64 under the key {}", shown(key_)));
  return Finding{done, *std::move(value), *stored, index};
}

EtcdStep EtcdOperation::trouble(const EtcdAnswer& answer) {
  if (++troubles_ > most_troubles || !sent_.may_repeat)
    return Error{ErrorCode::closed, fmt::format("answers with status {}: {}", answer.status,
                                                without_controls(answer.body, longest_reason))};
  return EtcdPause{pause_after(troubles_)};
}

}  // namespace launch
