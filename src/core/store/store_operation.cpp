#include "launch/core/store/store_operation.hpp"

#include "launch/core/store/store_wire.hpp"

#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::uint64_t most_listed_keys = 10'000'000;

using MaybeOutcome = Result<std::optional<Outcome>>;

std::vector<std::string_view> views(const KeyList& keys) { return {keys.begin(), keys.end()}; }

struct OperationEncoder {
  std::string& out;

  void operator()(const SetKeys& op) const {
    if (op.entries.size() == 1) return encode(SetRequest{op.entries[0].first, op.entries[0].second}, out);
    MultiSetRequest request;
    for (const auto& [key, value] : op.entries) request.entries.push_back(SetRequest{key, value});
    encode(request, out);
  }
  void operator()(const CompareSet& op) const { encode(CompareSetRequest{op.key, op.expected, op.desired}, out); }
  void operator()(const AddNumber& op) const { encode(AddRequest{op.key, op.amount}, out); }
  void operator()(const GetKeys& op) const { encode(MultiGetRequest{views(op.keys)}, out); }
  void operator()(const CheckKeys& op) const {
    for (const std::string& key : op.keys) encode(CheckRequest{{key}}, out);
  }
  void operator()(const AwaitKeys& op) const { encode(WaitRequest{views(op.keys)}, out); }
  void operator()(const Attend& op) const { encode(AttendRequest{op.key, op.text}, out); }
  void operator()(const ListKeys&) const { encode(ListKeysRequest{}, out); }
  void operator()(const DeleteKeys& op) const {
    for (const std::string& key : op.keys) encode(DeleteKeyRequest{key}, out);
  }
  void operator()(const LeaveWill& op) const { encode(LeaveWillRequest{to_json(op.will)}, out); }
};

MaybeOutcome read_zero(std::string_view bytes, std::size_t& used) {
  if (bytes.empty()) return std::optional<Outcome>();
  used = 1;
  if (bytes[0] == 0) return std::optional<Outcome>(Done{});
  return Error{ErrorCode::protocol, fmt::format("the store answered {:#x} where zero was due", bytes[0])};
}

MaybeOutcome read_values(std::size_t count, std::string_view bytes, std::size_t& used, PartialReply& part) {
  while (part.values.size() < count) {
    const std::string_view rest = bytes.substr(part.read);
    if (rest.size() < 8) return std::optional<Outcome>();
    const auto length = static_cast<std::uint64_t>(read_i64(rest.data()));
    if (length > max_payload_bytes)
      return Error{ErrorCode::protocol, fmt::format("the store announced a value of {} bytes", length)};
    if (rest.size() - 8 < length) return std::optional<Outcome>();
    part.values.emplace_back(rest.substr(8, length));
    part.read += 8 + length;
  }
  used = part.read;
  return std::optional<Outcome>(Values{std::exchange(part, {}).values});
}

struct Decoder {
  std::string_view bytes;
  std::size_t& used;
  PartialReply& part;

  MaybeOutcome operator()(const SetKeys&) const {
    used = 0;  // SET and MULTI_SET have no reply
    return std::optional<Outcome>(Done{});
  }
  MaybeOutcome operator()(const CompareSet&) const { return read_values(1, bytes, used, part); }
  MaybeOutcome operator()(const AddNumber&) const {
    if (bytes.size() < 8) return std::optional<Outcome>();
    used = 8;
    return std::optional<Outcome>(Number{read_i64(bytes.data())});
  }
  MaybeOutcome operator()(const GetKeys& op) const { return read_values(op.keys.size(), bytes, used, part); }
  MaybeOutcome operator()(const CheckKeys& op) const {
    if (bytes.size() < op.keys.size()) return std::optional<Outcome>();
    Presence result;
    for (std::size_t i = 0; i < op.keys.size(); ++i) result.present.push_back(bytes[i] == 0);
    used = op.keys.size();
    return std::optional<Outcome>(std::move(result));
  }
  MaybeOutcome operator()(const AwaitKeys&) const { return read_zero(bytes, used); }
  MaybeOutcome operator()(const Attend&) const {
    const auto zero = read_zero(bytes, used);
    if (!zero || !zero->has_value()) return zero;
    auto news = read_values(1, bytes.substr(1), used, part);
    if (!news || !news->has_value()) return news;
    ++used;
    return std::optional<Outcome>(Told{std::get<Values>(**std::move(news)).values.at(0)});
  }
  MaybeOutcome operator()(const ListKeys&) const {
    if (bytes.size() < 8) return std::optional<Outcome>();
    const std::int64_t count = read_i64(bytes.data());
    if (count < 0 || static_cast<std::uint64_t>(count) > most_listed_keys)
      return Error{ErrorCode::protocol, fmt::format("the store announced {} keys", count)};
    auto names = read_values(static_cast<std::size_t>(count), bytes.substr(8), used, part);
    if (names && names->has_value()) used += 8;
    return names;
  }
  MaybeOutcome operator()(const DeleteKeys& op) const {
    if (bytes.size() < 8 * op.keys.size()) return std::optional<Outcome>();
    used = 8 * op.keys.size();
    Number deleted;
    for (std::size_t at = 0; at < used; at += 8) deleted.value += read_i64(bytes.data() + at);
    return std::optional<Outcome>(deleted);
  }
  MaybeOutcome operator()(const LeaveWill&) const { return read_zero(bytes, used); }
};

}  // namespace

bool waits(const Operation& operation) {
  return std::holds_alternative<AwaitKeys>(operation) || std::holds_alternative<Attend>(operation);
}

void encode_operation(const Operation& operation, std::string& out) { std::visit(OperationEncoder{out}, operation); }

MaybeOutcome decode_outcome(const Operation& operation, std::string_view bytes, std::size_t& used, PartialReply& part) {
  return std::visit(Decoder{bytes, used, part}, operation);
}

MaybeOutcome decode_outcome(const Operation& operation, std::string_view bytes, std::size_t& used) {
  PartialReply part;
  return decode_outcome(operation, bytes, used, part);
}

}  // namespace launch
