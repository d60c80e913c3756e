// What the launches of `launch --hosts` say themselves, among the lines of their workers on standard error: each line
// begins with "launch: ". Lines of workers have a prefix, unless the user has chosen none. Used by core/hosts/head.
// Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace launch {

class LaunchLines {
 public:
  static bool is_one(std::string_view line);
  // Such a line as the user sees it. Information gets the name of its host, and so does all that has a time
  // (--verbose). What is wrong stays as it is; nothing: another node has warned in the same words.
  std::optional<std::string> as_shown(int node, const std::string& host, std::string_view line);

 private:
  bool is_repeated(int node, std::string_view line);

  std::map<std::string, int, std::less<>> warned_;  // a line, and the node that said it first
};

}  // namespace launch
