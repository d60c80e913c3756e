// Where an etcd keeps what the agents of a job write to their store, by its API v2. Used by EtcdOperation. There are
// two layouts, and both are torchrun's, so that its agents find everything (docs/store_protocol.md). That of etcd-v2:
// the state of the rendezvous under /torch/elastic/rendezvous, for two hours after it was last written; all else under
// /torch/elastic/store, names and values in base64. That of the older etcd, until one to two hours after an agent of
// the job last renewed it: everything in the job's own folder; what belongs to a version in the folder of that version,
// names and values in base64; and the paths that the rendezvous itself uses, as they are.
//
// Pure: it makes texts, and knows nothing of connections. Run ids and keys may hold any bytes.
#pragma once

#include "launch/core/base/time.hpp"

#include <string>
#include <string_view>

namespace launch {

// For a path and for a form, with these characters left as they are.
std::string percent_encoded(std::string_view text, std::string_view plain = "");

class EtcdLayout {
 public:
  // `folder`: as in Endpoint.
  explicit EtcdLayout(std::string run_id, const std::string& folder = "");

  // The path of a request about this key.
  std::string target(std::string_view key) const;
  // Its value is stored as it is, and it may be compared with an absent one.
  bool is_plain(std::string_view key) const;
  // It stands for the folder of the job itself, which has no value.
  bool is_folder(std::string_view key) const { return key == root_ && !root_.empty(); }
  // The text that stands for the value of an absent key. In the older layout a value can be compared and removed: this
  // is what it becomes.
  std::string absent_value(std::string_view key) const;
  bool can_remove(std::string_view key) const { return is_plain(key) && !root_.empty(); }
  // For how long, as a part of a form; `asked`: by the operation.
  std::string lasts(std::string_view key, Duration asked) const;

 private:
  std::string path(std::string_view key) const;

  std::string run_id_;
  std::string state_key_;
  std::string root_;  // empty: the layout of etcd-v2
};

}  // namespace launch
