#include "launch/core/host/xid.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <tuple>

#include <fmt/format.h>

namespace launch {
namespace {

struct Meaning {
  int number;
  std::string_view words;
};

constexpr int work_removed = 45;
constexpr std::array meanings{
    Meaning{13, "a kernel of the program raised an exception"},
    Meaning{31, "the program accessed an address that the GPU has not mapped"},
    Meaning{43, "an error of the program stopped its work on the GPU"},
    Meaning{work_removed, "the work of a program that had failed or ended was removed"},
    Meaning{48, "the GPU's memory had an error that cannot be corrected"},
    Meaning{62, "the GPU's internal controller halted"},
    Meaning{63, "a faulty part of the GPU's memory was marked for replacement"},
    Meaning{64, "a faulty part of the GPU's memory could not be marked for replacement"},
    Meaning{74, "an NVLink connection failed"},
    Meaning{79, "the GPU has fallen off the bus"},
    Meaning{92, "the GPU's memory has many errors, so far corrected ones"},
    Meaning{94, "the GPU's memory had an error that harms only the program that used it"},
    Meaning{95, "the GPU's memory had an error that harms every program on the GPU"},
    Meaning{119, "the GPU's system processor does not answer the driver"},
    Meaning{120, "the GPU's system processor reported an error"},
};
constexpr Duration same_moment = std::chrono::milliseconds(50);
constexpr std::int64_t latest_us = 1'000'000'000'000'000;  // microseconds: some 30 years after the start of the host

template <class Number>
std::optional<Number> count_at(std::string_view text) {
  Number value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() && end != text.data() && value >= 0 ? std::optional(value) : std::nullopt;
}

// What comes after `mark`; nullopt if it is not there.
std::optional<std::string_view> text_behind(std::string_view text, std::string_view mark) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + mark.size());
}

// "PCI:0000:3b:00", "0000:3b:00" in old drivers, and "PCI:0000:3b:00 GPU-I:05" of a part of a GPU.
std::string gpu_address(std::string_view place) {
  if (place.starts_with("PCI:")) place.remove_prefix(4);
  place = place.substr(0, place.find(' '));
  constexpr std::string_view digits = "0123456789abcdefABCDEF:";
  const bool good =
      place.size() >= 7 && place.size() <= 16 && place.find_first_not_of(digits) == std::string_view::npos;
  return good ? fmt::format("{}.0", place) : "";
}

// "6,339,5140900,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus."
std::optional<Xid> parse_xid_record(std::string_view record) {
  const auto head_end = record.find(';');
  if (head_end == std::string_view::npos) return std::nullopt;
  const auto head = split(record.substr(0, head_end), ',');
  constexpr std::string_view begin = "NVRM: Xid (";
  std::string_view text = record.substr(head_end + 1);
  if (head.size() < 3 || !text.starts_with(begin)) return std::nullopt;
  text.remove_prefix(begin.size());
  const auto place_end = text.find("): ");
  if (place_end == std::string_view::npos) return std::nullopt;
  Xid xid;
  xid.gpu = gpu_address(text.substr(0, place_end));
  text.remove_prefix(place_end + 3);
  const auto time = count_at<std::int64_t>(head[2]);
  const auto number = count_at<int>(text);
  if (!time || !number || xid.gpu.empty()) return std::nullopt;
  xid.number = *number;
  xid.at = Time(std::chrono::microseconds(std::min(*time, latest_us)));
  const auto pid = text_behind(text, ", pid=");
  if (pid) xid.pid = count_at<pid_t>(*pid).value_or(0);
  return xid;
}

std::string when_reported(Time at, const XidReader& reader) {
  using TenthsOfSeconds = std::chrono::duration<std::int64_t, std::deci>;
  const Duration before = reader.ended - at;
  if (before < same_moment) return fmt::format("as rank {} ended", reader.rank);
  const Duration told = before < std::chrono::seconds(10) ? Duration(std::chrono::round<TenthsOfSeconds>(before))
                                                          : Duration(std::chrono::round<std::chrono::seconds>(before));
  return fmt::format("{} before rank {} ended", to_text(told), reader.rank);
}

}  // namespace

std::vector<Xid> parse_xids(std::string_view records) {
  std::vector<Xid> xids;
  for (const std::string_view record : split(records, '\n'))
    if (auto xid = parse_xid_record(record)) xids.push_back(*std::move(xid));
  return xids;
}

std::string_view meaning_of_xid(int number) {
  const auto found = std::find_if(meanings.begin(), meanings.end(), [=](auto one) { return one.number == number; });
  return found == meanings.end() ? std::string_view() : found->words;
}

std::string xid_note(const std::vector<Xid>& xids, const XidReader& reader) {
  const auto order = [&reader](const Xid& xid) {
    return std::tuple(xid.number == work_removed, xid.pid == 0 || xid.pid != reader.pid, xid.at);
  };
  const auto first = std::min_element(xids.begin(), xids.end(),
                                      [&](const Xid& one, const Xid& other) { return order(one) < order(other); });
  if (first == xids.end()) return "";
  std::string note = fmt::format("the driver reported Xid {} on GPU {}", first->number, first->gpu);
  const std::string_view meaning = meaning_of_xid(first->number);
  if (!meaning.empty()) note += fmt::format(" ({})", meaning);
  if (first->pid != 0) note += fmt::format(", pid {}", first->pid);
  note += ", " + when_reported(first->at, reader);
  if (xids.size() > 1) note += fmt::format(", and {} more", xids.size() - 1);
  return note;
}

}  // namespace launch
