#include "launch/core/hosts/host_fold.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t most_places = 8;         // numbers that are looked at in one name
constexpr std::size_t most_folded_digits = 9;  // the grammar of lists reads no longer numbers

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// A name around one of its numbers.
struct Place {
  std::string_view before;
  std::string_view number;
  std::string_view after;
  std::size_t frame = 0;  // its number in the table
};

// Names that differ in one number share it.
struct Frame {
  std::string_view before;
  std::string_view after;
  bool operator==(const Frame&) const = default;
};

struct FrameHash {
  std::size_t operator()(const Frame& frame) const {
    const std::hash<std::string_view> hash;
    return hash(frame.before) * 31 + hash(frame.after);
  }
};

struct HostGroup {
  std::string_view whole;  // the name, if it is the only one
  Frame frame;
  std::vector<std::string_view> numbers;
};

// Where the numbers begin that belong to the host: behind the user.
std::size_t begin_of_host(std::string_view name) {
  const auto at = name.rfind('@');
  return at == std::string_view::npos ? 0 : at + 1;
}

// And where they end: before a port. An IPv6 address has several colons and no port.
std::size_t end_of_host(std::string_view name) {
  const auto colon = name.rfind(':');
  return colon != std::string_view::npos && colon == name.find(':') ? colon : name.size();
}

std::vector<Place> places_of(std::string_view name) {
  std::vector<Place> places;
  if (name.find_first_of("[], \t\r\n") != std::string_view::npos) return places;
  const std::size_t end = end_of_host(name);
  for (std::size_t at = begin_of_host(name); at < end && places.size() < most_places; ++at) {
    const std::size_t begin = at;
    while (at < end && is_decimal(name[at])) ++at;
    const std::size_t size = at - begin;
    if (size > 0 && size <= most_folded_digits)
      places.push_back({name.substr(0, begin), name.substr(begin, size), name.substr(at), 0});
  }
  return places;
}

std::vector<std::string_view> without_repeats(const std::vector<std::string>& hosts) {
  std::unordered_set<std::string_view> seen(hosts.size());
  std::vector<std::string_view> names;
  for (const std::string& host : hosts)
    if (seen.insert(host).second) names.push_back(host);
  return names;
}

// The number of each frame, in order of appearance, and how many names have it.
class FrameTable {
 public:
  explicit FrameTable(std::size_t names) : ids_(2 * names) {}

  std::size_t add(const Place& place) {
    const auto id = ids_.try_emplace({place.before, place.after}, sizes_.size()).first->second;
    if (id == sizes_.size()) sizes_.push_back(0);
    ++sizes_[id];
    return id;
  }
  std::size_t size_of(std::size_t id) const { return sizes_[id]; }
  std::size_t count() const { return sizes_.size(); }

 private:
  std::unordered_map<Frame, std::size_t, FrameHash> ids_;
  std::vector<std::size_t> sizes_;
};

// Each name joins the largest group that it can be in; of equal ones that of its last number.
std::vector<HostGroup> grouped(const std::vector<std::string_view>& names) {
  std::vector<std::vector<Place>> places;
  places.reserve(names.size());
  FrameTable frames(names.size());
  for (const std::string_view name : names) {
    places.push_back(places_of(name));
    for (Place& place : places.back()) place.frame = frames.add(place);
  }
  std::vector<HostGroup> groups;
  std::vector<std::optional<std::size_t>> group_of(frames.count());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto best =
        std::max_element(places[i].rbegin(), places[i].rend(), [&](const Place& left, const Place& right) {
          return frames.size_of(left.frame) < frames.size_of(right.frame);
        });
    if (best == places[i].rend()) {
      groups.push_back({names[i], {}, {}});
      continue;
    }
    std::optional<std::size_t>& group = group_of[best->frame];
    if (!group) {
      group = groups.size();
      groups.push_back({names[i], {best->before, best->after}, {}});
    }
    groups[*group].numbers.push_back(best->number);
  }
  return groups;
}

// Whether a range that has come to `number` goes on with `text`. Its reader makes each number as wide as the first.
bool goes_on(int number, std::size_t width, std::string_view text) {
  return parse_int(text) == number + 1 && (text.size() == width || text.front() != '0');
}

// "08-10,12" for 12, 09, 10 and 08.
std::string ranges_of(std::vector<std::string_view> numbers) {
  std::sort(numbers.begin(), numbers.end(), [](std::string_view left, std::string_view right) {
    return left.size() != right.size() ? left.size() < right.size() : left < right;
  });
  std::string text;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = ++last) {
    int number = *parse_int(numbers[first]);
    for (; last + 1 < numbers.size() && goes_on(number, numbers[first].size(), numbers[last + 1]); ++last) ++number;
    if (!text.empty()) text += ',';
    text += numbers[first];
    if (last > first) text.append("-").append(numbers[last]);
  }
  return text;
}

}  // namespace

std::string fold_hosts(const std::vector<std::string>& hosts) {
  std::string text;
  for (const HostGroup& group : grouped(without_repeats(hosts))) {
    if (!text.empty()) text += ',';
    if (group.numbers.size() < 2) {
      text += group.whole;
    } else {
      text += fmt::format("{}[{}]{}", group.frame.before, ranges_of(group.numbers), group.frame.after);
    }
  }
  return text;
}

}  // namespace launch
