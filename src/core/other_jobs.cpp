#include "launch/core/other_jobs.hpp"

#include "launch/core/text.hpp"

#include <optional>
#include <set>
#include <string_view>

namespace launch {
namespace {

constexpr std::size_t most_shown = 3;
constexpr std::string_view elastic_begin = "/torch.rendezvous.";

// A c10d job has its state under its name, a static one the roles of its nodes; see docs/store_protocol.md.
std::optional<std::string_view> run_id_of(std::string_view key) {
  if (key.starts_with(elastic_begin)) {
    key.remove_prefix(elastic_begin.size());
    const bool of_a_round = key.find("/launch/") != key.npos || key.find("/torchelastic/") != key.npos ||
                            key.ends_with("/MASTER_ADDR") || key.ends_with("/MASTER_PORT");
    return of_a_round ? std::nullopt : std::optional(key);
  }
  const std::size_t end = key.find("/torchelastic/role_info/");
  if (!key.starts_with('/') || end == key.npos || key.find("/launch/attempt/") != key.npos) return std::nullopt;
  return key.substr(1, end - 1);
}

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
