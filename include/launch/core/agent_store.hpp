// The store that an agent hosts: the table of keys, and the memberships of the c10d jobs that meet in it.
//
// Pure, as both of them are: requests go in, replies come out. To torchrun's agents a job's state is a key like any
// other; what they write there is taken up by the membership, and what they read is made for them then.
#pragma once

#include "launch/core/membership.hpp"
#include "launch/core/store_table.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

class AgentStore {
 public:
  // As StoreTable's.
  Status apply(ConnectionId from, const Request& request, Instant now, std::string& reply, std::vector<Push>& pushes);
  void drop(ConnectionId connection, bool silent, Instant now, std::vector<Push>& pushes);

  // Its silence is to be noticed.
  bool is_watched(ConnectionId connection) const;
  bool watches() const { return !jobs_.empty() || table_.wills() > 0; }

  // When on_deadline() is to be called.
  Time deadline() const;
  void on_deadline(Instant now, std::vector<Push>& pushes);

  StoreTable& table() { return table_; }

 private:
  using Jobs = std::map<std::string, Membership, std::less<>>;  // by the key of their state

  Status attend(ConnectionId from, const AttendRequest& request, Instant now, std::string& reply,
                std::vector<Push>& pushes);
  Jobs::iterator find_job(const Request& request);
  Status write_state(Jobs::iterator job, ConnectionId from, const Request& request, Instant now, std::string& reply,
                     std::vector<Push>& pushes);
  void deliver(Membership& job, ConnectionId asker, std::string& reply, std::vector<Push>& pushes);

  StoreTable table_;
  Jobs jobs_;
  std::map<ConnectionId, Membership*> attending_;
};

}  // namespace launch
