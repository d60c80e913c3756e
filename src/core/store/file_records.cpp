#include "launch/core/store/file_records.hpp"

#include "launch/core/store/counter.hpp"
#include "launch/core/store/store_wire.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t length_bytes = 4;  // little-endian
constexpr char removed = '-';            // before the key of a record that removes one
constexpr std::size_t longest_key = std::size_t{64} * 1024;

std::uint32_t length_at(std::string_view bytes) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return length;
}

void put_text(std::string_view text, std::string& out) {
  const auto length = static_cast<std::uint32_t>(text.size());
  for (std::size_t i = 0; i < length_bytes; ++i) out.push_back(static_cast<char>((length >> (8 * i)) & 0xffU));
  out += text;
}

void put_record(std::string_view key, std::string_view value, std::string& out) {
  put_text(key, out);
  put_text(value, out);
}

// nullopt: the file ends before the text does, or the text is longer than any.
std::optional<std::string_view> take_text(std::string_view& bytes, std::size_t longest) {
  if (bytes.size() < length_bytes) return std::nullopt;
  const std::size_t length = length_at(bytes);
  if (length > longest || bytes.size() - length_bytes < length) return std::nullopt;
  const std::string_view text = bytes.substr(length_bytes, length);
  bytes.remove_prefix(length_bytes + length);
  return text;
}

}  // namespace

Status FileRecords::read(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto key = take_text(bytes, longest_key);
    const auto value = key ? take_text(bytes, max_payload_bytes) : std::nullopt;
    if (!value) return protocol_error("it does not have the records of a FileStore of PyTorch");
    if (key->starts_with(removed)) {
      if (const auto gone = values_.find(key->substr(1)); gone != values_.end()) values_.erase(gone);
    } else {
      values_.insert_or_assign(std::string(*key), std::string(*value));
    }
  }
  return {};
}

struct FileRecords::Reader {
  using Answer = Result<FileAnswer>;
  const std::map<std::string, std::string, std::less<>>& values;

  const std::string* find(const std::string& key) const {
    const auto found = values.find(key);
    return found == values.end() ? nullptr : &found->second;
  }

  Answer operator()(const SetKeys& op) const {
    FileAnswer answer{{}, Done{}};
    for (const auto& [key, value] : op.entries) put_record(key, value, answer.append);
    return answer;
  }
  Answer operator()(const CompareSet& op) const {
    const std::string* const held = find(op.key);
    const bool fits = held == nullptr ? op.expected.empty() : *held == op.expected;
    if (!fits) return FileAnswer{{}, Values{{held == nullptr ? op.expected : *held}}};
    FileAnswer answer{{}, Values{{op.desired}}};
    put_record(op.key, op.desired, answer.append);
    return answer;
  }
  Answer operator()(const AddNumber& op) const {
    const std::string* const held = find(op.key);
    const auto number = held == nullptr ? 0 : leading_number(*held);
    if (!number) return protocol_error("it holds something that is no number where nodes are counted");
    const std::int64_t sum = wrapping_sum(*number, op.amount);
    FileAnswer answer{{}, Number{sum}};
    put_record(op.key, std::to_string(sum), answer.append);
    return answer;
  }
  Answer operator()(const GetKeys& op) const {
    Values got;
    for (const std::string& key : op.keys) {
      const std::string* const held = find(key);
      got.values.push_back(held == nullptr ? std::string() : *held);
    }
    return FileAnswer{{}, std::move(got)};
  }
  Answer operator()(const CheckKeys& op) const {
    Presence there;
    for (const std::string& key : op.keys) there.present.push_back(find(key) != nullptr);
    return FileAnswer{{}, std::move(there)};
  }
  Answer operator()(const AwaitKeys& op) const {
    const bool all = std::all_of(op.keys.begin(), op.keys.end(), [&](const auto& key) { return find(key) != nullptr; });
    return FileAnswer{{}, all ? std::optional<Outcome>(Done{}) : std::nullopt};
  }
  Answer operator()(const ListKeys& /*op*/) const {
    Values names;
    for (const auto& [key, value] : values)
      if (key.starts_with('/')) names.values.push_back(key);
    return FileAnswer{{}, std::move(names)};
  }
  Answer operator()(const DeleteKeys& op) const {
    Number count;
    FileAnswer answer;
    for (const std::string& key : op.keys) {
      if (find(key) == nullptr) continue;
      ++count.value;
      put_record(removed + key, "", answer.append);
    }
    answer.outcome = count;
    return answer;
  }
  Answer operator()(const Attend& /*op*/) const { return protocol_error("it knows no attendance"); }
  Answer operator()(const LeaveWill& /*op*/) const { return protocol_error("it knows no wills"); }
};

Result<FileAnswer> FileRecords::on(const Operation& operation) const { return std::visit(Reader{values_}, operation); }

bool changes_file(const Operation& operation) {
  return std::holds_alternative<SetKeys>(operation) || std::holds_alternative<CompareSet>(operation) ||
         std::holds_alternative<AddNumber>(operation) || std::holds_alternative<DeleteKeys>(operation);
}

}  // namespace launch
