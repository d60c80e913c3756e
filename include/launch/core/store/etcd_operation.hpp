// One operation on the store of a job that meets at an etcd, as requests to etcd's API v2 and what their answers mean.
// A machine without time: io/etcd_client sends the requests, waits, and connects again. Where keys and values are, and
// in what form, EtcdLayout says.
//
// Errors are sentences about etcd that begin with a verb; the caller names its address. Any answer may come.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/store/etcd_layout.hpp"
#include "launch/core/store/store_operation.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace launch {

struct EtcdRequest {
  enum class Method {
    get,
    put,
    remove
  };
  Method method = Method::get;
  std::string target;      // path and query
  std::string body{};      // a form
  bool watches = false;    // answered when a key changes, and by nothing if the connection or etcd ends
  bool may_repeat = true;  // sent again, it does no harm

  bool operator==(const EtcdRequest&) const = default;
};

struct EtcdAnswer {
  unsigned status = 0;  // of HTTP
  std::string body;
};

// The etcd has a passing trouble, or what is before it ends watches at once: resume() after this.
struct EtcdPause {
  Duration length{};
  bool operator==(const EtcdPause&) const = default;
};
// Nothing will come of this operation: it waits for its deadline.
struct EtcdRest {
  bool operator==(const EtcdRest&) const = default;
};

using EtcdStep = std::variant<EtcdRequest, EtcdPause, EtcdRest, Outcome, Error>;

class EtcdOperation {
 public:
  // An Attend and a LeaveWill are errors: no launch agent hosts this store.
  EtcdOperation(Operation operation, EtcdLayout layout);

  EtcdStep start();
  EtcdStep on(const EtcdAnswer& answer);
  EtcdStep resume();
  // The deadline has come while the last request watches, or while it rests: looks once more, and waits no more.
  EtcdStep expire();

 private:
  using Method = EtcdRequest::Method;

  EtcdStep next();  // what the operation asks about the key whose turn it is
  EtcdStep next(const SetKeys& op);
  EtcdStep next(const CompareSet& op);
  EtcdStep next(const AddNumber& op);
  EtcdStep next(const GetKeys& op);
  EtcdStep next(const CheckKeys& op);
  EtcdStep next(const AwaitKeys& op);
  EtcdStep next(const Attend& op);
  EtcdStep next(const ListKeys& op);
  EtcdStep next(const DeleteKeys& op);
  EtcdStep next(const LeaveWill& op);

  // What an answer means. `value`: what the key holds; absent if there is no such key.
  struct Finding;
  EtcdStep take(const SetKeys& op, Finding found);
  EtcdStep take(const CompareSet& op, Finding found);
  EtcdStep take(const AddNumber& op, Finding found);
  EtcdStep take(const GetKeys& op, Finding found);
  EtcdStep take(const CheckKeys& op, Finding found);
  EtcdStep take(const AwaitKeys& op, const Finding& found);
  EtcdStep take(const Attend& op, Finding found);
  EtcdStep take(const ListKeys& op, Finding found);
  EtcdStep take(const DeleteKeys& op, Finding found);
  EtcdStep take(const LeaveWill& op, Finding found);

  EtcdStep send(EtcdRequest request);
  EtcdStep move_on();
  EtcdStep read(const std::string& key);
  EtcdStep write(std::pair<std::string, std::string> entry, std::string_view condition, Duration lasts);
  EtcdStep keep_folder(const std::string& key, bool exists, Duration lasts);
  std::string encoded(const std::string& key, const std::string& value) const;
  Result<Finding> read_answer(const EtcdAnswer& answer) const;
  EtcdStep trouble(const EtcdAnswer& answer);

  Operation operation_;
  EtcdLayout layout_;
  EtcdRequest sent_;
  std::string key_;                  // the one that was asked about
  std::size_t at_ = 0;               // the key whose turn it is
  bool looks_ = false;               // a write was refused: what does the key hold?
  std::optional<std::string> held_;  // a number that is added to, as it is stored
  bool over_ = false;                // waits no more
  int troubles_ = 0;                 // in a row
  int missed_ = 0;                   // watches, in a row
  std::int64_t number_ = 0;          // the sum, or how many were removed
  std::vector<std::string> values_;
  std::vector<bool> present_;
};

}  // namespace launch
