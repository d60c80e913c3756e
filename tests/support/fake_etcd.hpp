// A small etcd for tests: the part of its API v2 that EtcdOperation uses, on a map. It answers at once; a watch whose
// key has not changed has no answer yet. Keys are paths without "/v2/keys", values as the etcd has them. What has a ttl
// expires only in pass().
#pragma once

#include "launch/core/store/etcd_operation.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace launch {

class FakeEtcd {
 public:
  // nullopt: a watch that waits.
  std::optional<EtcdAnswer> ask(const EtcdRequest& request);

  // Time goes by.
  void pass(Duration time);

  std::map<std::string, std::string> nodes;
  std::map<std::string, std::int64_t> changes;  // at which index each was written last
  std::map<std::string, std::string> lasts;     // the ttl of each that has one
  std::int64_t index = 3;
  std::set<std::string> folders;  // that were asked for; their ttl is noted, but they do not expire

 private:
  using Form = std::map<std::string, std::string>;

  EtcdAnswer fault(unsigned status, int code, const std::string& message) const;
  EtcdAnswer put(const std::string& key, const Form& form);
  EtcdAnswer put_folder(const std::string& key, const Form& form);
  EtcdAnswer remove(const std::string& key, const Form& query);
  void keep(const std::string& key, const Form& form);

  std::map<std::string, Duration> ends_;  // when each expires
  Duration time_{};
};

}  // namespace launch
