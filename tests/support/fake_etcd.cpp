#include "fake_etcd.hpp"

#include "launch/core/base/text.hpp"

#include <chrono>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace launch {
namespace {

std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      result.push_back(text[at]);
      continue;
    }
    result.push_back(static_cast<char>(std::stoi(std::string(text.substr(at + 1, 2)), nullptr, 16)));
    at += 2;
  }
  return result;
}

std::map<std::string, std::string> form_of(std::string_view body) {
  std::map<std::string, std::string> form;
  for (const std::string_view field : split(body, '&')) {
    const auto equals = field.find('=');
    form[std::string(field.substr(0, equals))] = unescaped(field.substr(equals + 1));
  }
  return form;
}

std::string node_text(const std::string& key, const std::string& value) {
  std::string quoted;
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return fmt::format(R"({{"action":"get","node":{{"key":"{}","value":"{}","modifiedIndex":4}}}})", key, quoted);
}

}  // namespace

std::optional<EtcdAnswer> FakeEtcd::ask(const EtcdRequest& request) {
  const auto query = request.target.find('?');
  const std::string key = unescaped(request.target.substr(0, query)).substr(std::string_view("/v2/keys").size());
  const auto held = nodes.find(key);
  if (request.method == EtcdRequest::Method::put) return put(key, form_of(request.body));
  Form asked = query == std::string::npos ? Form() : form_of(request.target.substr(query + 1));
  if (request.method == EtcdRequest::Method::remove) return remove(key, asked);
  if (query != std::string::npos) {
    const auto wanted = std::stoll(asked["waitIndex"]);
    const auto changed = changes.find(key);
    if (changed == changes.end() || changed->second < wanted) return std::nullopt;
  }
  if (held == nodes.end()) return fault(404, 100, "Key not found");
  return EtcdAnswer{200, node_text(key, held->second)};
}

EtcdAnswer FakeEtcd::fault(unsigned status, int code, const std::string& message) const {
  return {status, fmt::format(R"({{"errorCode":{},"message":"{}","cause":"","index":{}}})", code, message, index)};
}

EtcdAnswer FakeEtcd::remove(const std::string& key, const Form& query) {
  const auto held = nodes.find(key);
  const auto expected = query.find("prevValue");
  if (held == nodes.end()) return fault(404, 100, "Key not found");
  if (expected != query.end() && held->second != expected->second) return fault(412, 101, "Compare failed");
  nodes.erase(held);
  ends_.erase(key);
  changes[key] = ++index;
  return {200, fmt::format(R"({{"action":"delete","node":{{"key":"{}"}}}})", key)};
}

EtcdAnswer FakeEtcd::put(const std::string& key, const Form& form) {
  if (form.contains("dir")) return put_folder(key, form);
  const auto held = nodes.find(key);
  const auto expected = form.find("prevValue");
  if (form.contains("prevExist") && held != nodes.end()) return fault(412, 105, "Key already exists");
  if (expected != form.end() && held == nodes.end()) return fault(404, 100, "Key not found");
  if (expected != form.end() && held->second != expected->second) return fault(412, 101, "Compare failed");
  nodes[key] = form.at("value");
  changes[key] = ++index;
  keep(key, form);
  return {201, node_text(key, nodes[key])};
}

EtcdAnswer FakeEtcd::put_folder(const std::string& key, const Form& form) {
  const auto within = nodes.lower_bound(key + "/");
  const bool there = folders.contains(key) || (within != nodes.end() && within->first.starts_with(key + "/"));
  if (there && form.at("prevExist") == "false") return fault(412, 105, "Key already exists");
  if (!there && form.at("prevExist") == "true") return fault(404, 100, "Key not found");
  folders.insert(key);
  lasts[key] = form.at("ttl");
  return {201, fmt::format(R"({{"action":"set","node":{{"key":"{}","dir":true}}}})", key)};
}

void FakeEtcd::keep(const std::string& key, const Form& form) {
  lasts.erase(key);
  ends_.erase(key);
  const auto ttl = form.find("ttl");
  if (ttl == form.end()) return;
  lasts[key] = ttl->second;
  ends_[key] = time_ + std::chrono::seconds(std::stoll(ttl->second));
}

void FakeEtcd::pass(Duration time) {
  time_ += time;
  for (auto end = ends_.begin(); end != ends_.end();) {
    const auto [key, when] = *end;
    end = when <= time_ ? ends_.erase(end) : std::next(end);
    if (when > time_) continue;
    nodes.erase(key);
    changes[key] = ++index;
  }
}

}  // namespace launch
