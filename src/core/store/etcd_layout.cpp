#include "launch/core/store/etcd_layout.hpp"

#include "launch/core/base/base64.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::string_view keys_begin = "/v2/keys";
constexpr std::string_view state_folder = "/torch/elastic/rendezvous/";
constexpr std::string_view store_folder = "/torch/elastic/store/";
constexpr std::string_view plain_in_paths = "/+=";
constexpr std::chrono::seconds two_hours{7200};  // as torchrun has it

// PyTorch's clients of a TCPStore put a slash before a key, and those of an etcd do not.
std::string_view without_slash(std::string_view key) {
  if (key.starts_with('/')) key.remove_prefix(1);
  return key;
}

}  // namespace

std::string percent_encoded(std::string_view text, std::string_view plain) {
  constexpr std::string_view unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string result;
  for (const char c : text) {
    if (unreserved.find(c) != std::string_view::npos || plain.find(c) != std::string_view::npos) {
      result.push_back(c);
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

EtcdLayout::EtcdLayout(std::string run_id, const std::string& folder)
    : run_id_(std::move(run_id)),
      state_key_(state_key(run_id_)),
      root_(folder.empty() ? std::string() : versions_root(folder, run_id_)) {}

std::string EtcdLayout::target(std::string_view key) const {
  return fmt::format("{}{}", keys_begin, percent_encoded(path(key), plain_in_paths));
}

std::string EtcdLayout::path(std::string_view key) const {
  if (root_.empty()) {
    if (is_plain(key)) return fmt::format("{}{}", state_folder, run_id_);
    return fmt::format("{}{}", store_folder, encode_base64(without_slash(key)));
  }
  if (is_plain(key) || is_folder(key)) return std::string(key);
  // In the store of a version torchrun's agents have keys without the prefix of the round.
  if (const std::string rounds = state_key_ + "."; key.starts_with(rounds)) {
    const std::string_view rest = key.substr(rounds.size());
    const std::size_t slash = rest.find('/');
    const auto version = parse_int(rest.substr(0, slash));
    if (version && slash != rest.npos) return version_store(root_, *version) + encode_base64(rest.substr(slash + 1));
  }
  return fmt::format("{}/launch/{}", root_, encode_base64(without_slash(key)));
}

bool EtcdLayout::is_plain(std::string_view key) const {
  if (root_.empty()) return key == state_key_;
  return key.size() > root_.size() && key.starts_with(root_) && key.substr(root_.size()).starts_with("/rdzv/");
}

std::string EtcdLayout::absent_value(std::string_view key) const {
  return root_.empty() && is_plain(key) ? std::string(no_state) : std::string();
}

std::string EtcdLayout::lasts(std::string_view key, Duration asked) const {
  const bool of_old = root_.empty() && is_plain(key);
  if (asked == Duration::zero() && (of_old || misleads_later_jobs(key))) asked = two_hours;
  if (asked == Duration::zero()) return "";
  return fmt::format("&ttl={}", std::chrono::ceil<std::chrono::seconds>(asked).count());
}

}  // namespace launch
