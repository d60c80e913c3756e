#include "launch/core/rendezvous/other_jobs.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/store/keys.hpp"

#include <set>
#include <string_view>

namespace launch {
namespace {

constexpr std::size_t most_shown = 3;

}  // namespace

std::vector<std::string> other_run_ids(const std::vector<std::string>& keys, const std::string& own) {
  std::set<std::string_view> others;
  for (const std::string& key : keys)
    if (const auto id = run_id_of(key); id && *id != own) others.insert(*id);
  std::vector<std::string> texts;
  for (const std::string_view id : others) {
    if (texts.size() == most_shown) break;
    texts.push_back(shown(id));
  }
  return texts;
}

}  // namespace launch
