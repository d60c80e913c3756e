// The store that an agent hosts: the table of keys, and the memberships of the c10d jobs that meet in it.
//
// Pure, as both of them are: requests go in, replies come out. To torchrun's agents a job's state is a key like any
// other: what they write there is passed to the membership, and what they read is made at that moment.
#pragma once

#include "launch/core/c10d/membership.hpp"
#include "launch/core/rendezvous/static_guests.hpp"
#include "launch/core/store/store_table.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace launch {

// One request: who sent it, and when. Its own reply is appended to `reply`, and what other connections get to `pushes`.
struct Exchange {
  ConnectionId from = 0;
  Instant now;
  std::string& reply;
  std::vector<Push>& pushes;
};

class AgentStore {
 public:
  // As in StoreTable; but what an agent must not hear now is held back (core/c10d/quorum).
  Status apply(const Request& request, const Exchange& exchange);
  void drop(ConnectionId connection, bool silent, Instant now, std::vector<Push>& pushes);
  // Called before drop(): the other side has closed it in order, as its kernel does when its process ends.
  void end(ConnectionId connection);

  // In this static job torchrun's nodes may be lost: the others are told.
  void expect_guests(std::string run_id, int nnodes) { guests_.emplace(std::move(run_id), nnodes); }

  // `own` is the agent that may host this store later, and its door. Until it attends after the end of another host,
  // only those whose line leads to this door may talk to it, and leave nothing here but that they attend.
  void close_to_strangers(Heir own) { closed_ = std::move(own); }
  // That agent hosts it from now on, as the first host of its job.
  void open_to_all() { closed_.reset(); }
  // Where the job with this key of its state is hosted, as that agent knows: for those who look for it. Nothing: it
  // knows of none.
  void point_to(std::string key, std::optional<MovedJob> job) {
    pointer_.reset();
    if (job) pointer_.emplace(std::move(key), *std::move(job));
  }
  // Workers of launch agents that attend may still run, apart from those of the one that hosts the store.
  bool workers_may_run() const;
  // As in Membership, of all its jobs.
  Membership::Others others() const;

  // Why the agent whose request was just applied is not let into its job.
  std::optional<std::string> take_objection() { return std::exchange(objection_, std::nullopt); }

  // Whether its silence must be noticed.
  bool is_watched(ConnectionId connection) const;
  bool watches() const { return !jobs_.empty() || table_.wills() > 0; }

  // When on_deadline() must be called.
  Time deadline() const;
  void on_deadline(Instant now, std::vector<Push>& pushes);

  StoreTable& table() { return table_; }

 private:
  using Jobs = std::map<std::string, Membership, std::less<>>;  // by the key of their state

  Status carry_out(const Request& request, const Exchange& exchange);
  Status hold_back(const Request& request, const Exchange& exchange, std::size_t begin);
  void release(Membership& job, const Exchange& exchange, std::size_t begin);
  void hear_receipt(const Exchange& exchange);
  void tell_to_wait(Time now, std::vector<Push>& pushes);
  void say_settled(Jobs::iterator job, const Exchange& exchange);
  Status attend(const AttendRequest& request, const Exchange& exchange);
  Status tell_where(std::string_view key, const Exchange& exchange);
  Status tell_of_elder(Jobs::iterator job, const Attendance& said, const Exchange& exchange);
  bool lets_in(const Attendance& said);
  Jobs::iterator find_job(const Request& request);
  Status write_state(Jobs::iterator job, const Request& request, const Exchange& exchange);
  void deliver(Membership& job, const Exchange& exchange);
  void tell_of_lost_guests(Time now, std::vector<Push>& pushes);

  StoreTable table_;
  std::optional<Heir> closed_;                               // to all but those who look for this one
  std::optional<std::pair<std::string, MovedJob>> pointer_;  // where a job is, by the key of its state
  std::optional<StaticGuests> guests_;
  Jobs jobs_;
  std::map<ConnectionId, Membership*> attending_;
  struct Held {
    Membership* job = nullptr;
    std::string reply{};
    bool beats = false;      // an answer to a beat is among that
    bool must_read = false;  // it was told to wait, and has not said that it has read that
  };
  std::optional<std::string> objection_;
  std::map<ConnectionId, Held> held_;
  Time next_word_ = never;  // to those who must wait
};

}  // namespace launch
