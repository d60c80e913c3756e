// A snapshot of environment variables. The process environment is read once, in io/host; core and app see values. Names
// are kept as they are, with their case. Nothing here changes the environment of the process: a worker gets the lines
// of such a snapshot when it is executed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

class Environment {
 public:
  Environment() = default;
  Environment(std::initializer_list<std::pair<const std::string, std::string>> entries) : values_(entries) {}

  // Lines of the form NAME=VALUE, as in environ(7); a line without '=' is left out.
  static Environment from_lines(const std::vector<std::string>& lines);

  std::optional<std::string> get(std::string_view name) const;
  void set(std::string name, std::string value);
  void remove(std::string_view name);

  // NAME=VALUE lines in order of name.
  std::vector<std::string> lines() const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace launch
