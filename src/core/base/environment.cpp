#include "launch/core/base/environment.hpp"

namespace launch {

Environment Environment::from_lines(const std::vector<std::string>& lines) {
  Environment env;
  for (const std::string& line : lines) {
    const auto equals = line.find('=');
    if (equals == std::string::npos) continue;
    // The first of two equal names wins, as in getenv.
    env.values_.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return env;
}

std::optional<std::string> Environment::get(std::string_view name) const {
  const auto it = values_.find(name);
  if (it == values_.end()) return std::nullopt;
  return it->second;
}

void Environment::set(std::string name, std::string value) {
  values_.insert_or_assign(std::move(name), std::move(value));
}

void Environment::remove(std::string_view name) {
  if (const auto it = values_.find(name); it != values_.end()) values_.erase(it);
}

std::vector<std::string> Environment::lines() const {
  std::vector<std::string> result;
  result.reserve(values_.size());
  for (const auto& [name, value] : values_) result.push_back(name + "=" + value);
  return result;
}

}  // namespace launch
