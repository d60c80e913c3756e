// Any text is refused with one line, or becomes hosts that ssh can be given, none twice, and that are the same hosts
// when they are written as a list, or as a file, again. The first byte says which of the two the text is.
#include "launch/core/hosts/host_file.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>

namespace {

using namespace launch;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_error(const Error& error) {
  require(error.code == ErrorCode::usage && !error.message.empty() && error.message.size() < 2000);
  require(std::none_of(error.message.begin(), error.message.end(), [](char c) { return c >= 0 && c < ' '; }));
}

bool is_sound(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
}

void check_hosts(const std::vector<HostEntry>& hosts) {
  require(!hosts.empty() && hosts.size() <= 65'536);
  require(std::any_of(hosts.begin(), hosts.end(), [](const HostEntry& host) { return !host.spare; }));
  std::set<std::string_view> names;
  for (const HostEntry& host : hosts) {
    require(names.insert(host.name).second);
    require(!host.name.empty() && host.name.size() <= 255 && host.name.front() != '-');
    const bool address = host.name.find(':') != std::string::npos;
    for (const char c : host.name) require(is_sound(c) || (address && (c == ':' || c == '%')));
    require(host.user.size() <= 255 && !host.user.starts_with('-'));
    require(std::all_of(host.user.begin(), host.user.end(), is_sound));
    require(!host.workers || (*host.workers >= 1 && *host.workers <= 65'536));
    require(!host.port || (*host.port >= 1 && *host.port <= 65'535));
    require(host.devices.empty());
  }
}

std::string word_of(const HostEntry& host) {
  std::string word = host.user.empty() ? "" : host.user + '@';
  word += host.name.find(':') == std::string::npos ? host.name : '[' + host.name + ']';
  return word;
}

void check_list(std::string_view text) {
  const auto hosts = parse_hosts(text);
  if (!hosts) return check_error(hosts.error());
  check_hosts(*hosts);
  std::string again;
  for (const HostEntry& host : *hosts) {
    if (!again.empty()) again += ',';
    if (host.spare) again += '+';
    again += word_of(host);
    if (host.workers) again += ':' + std::to_string(*host.workers);
    require(!host.port);
  }
  const auto same = parse_hosts(again);
  require(same && *same == *hosts);
}

void check_file(std::string_view text) {
  const auto file = parse_host_file(text);
  if (!file) return check_error(file.error());
  check_hosts(file->hosts);
  for (const std::string& notice : file->notices) require(!notice.empty() && notice.find('\n') == std::string::npos);
  std::string again;
  for (const HostEntry& host : file->hosts) {
    again += word_of(host);
    if (host.workers) again += " slots=" + std::to_string(*host.workers);
    if (host.port) again += " port=" + std::to_string(*host.port);
    again += '\n';
    require(!host.spare);
  }
  const auto same = parse_host_file(again);
  require(same && same->hosts == file->hosts && same->notices.empty());
  if (file->deepspeed) require(same->deepspeed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    check_list(text);
  } else {
    check_file(text);
  }
  return 0;
}
