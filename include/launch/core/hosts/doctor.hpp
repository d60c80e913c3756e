// The head of `launch --check --hosts`: gets all hosts together as a job would (core/hosts/gathering), asks each what
// it is like and whom of the others it reaches, and tells what is wrong: a table, or JSON, and whether the job would
// start. A machine with the same events and actions as core/hosts/head, for app/head_run. It starts no worker.
//
//   phase    | it waits for                           | then
//   gather   | the survey of all hosts, or why not    | each tries the others
//   pairs    | whom each of them reaches              | the table, and the exit code
//
// A host that cannot be reached, or that is lost, is a row of the table and ends nothing. A signal shows what is known.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/hosts/check_table.hpp"
#include "launch/core/hosts/clock_check.hpp"
#include "launch/core/hosts/gathering.hpp"
#include "launch/core/hosts/host_compare.hpp"
#include "launch/core/hosts/host_table.hpp"
#include "launch/core/hosts/network_check.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace launch {

class Doctor {
 public:
  // `start`: a moment on both clocks here. REQUIRES: the plan is that of a check.
  Doctor(HeadPlan plan, std::uint64_t seed, Instant start);

  HeadActions start(Time now);
  HeadActions on_greeting(int node, const Greeting& greeting, Time now);
  void on_noise(int node, std::string noise);
  HeadActions on_message(int node, HostMessage message, Time now);
  HeadActions on_nonsense(int node, const std::string& what, Time now);
  HeadActions on_lost(const LostConnection& lost, int node, Time now);
  void on_taken(int node, Time now) { gathering_.on_taken(node, now); }
  void on_console(bool, Time) {}
  HeadActions on_signal(int signal, Time now);
  HeadActions on_passed_signal(int) { return {}; }
  HeadActions on_deadline(Time now);
  Time deadline() const;

  bool waits() const { return phase_ != Phase::over; }
  std::string progress() const;

 private:
  enum class Phase {
    gather,
    pairs,
    over
  };
  using State = HostTable::State;

  struct Patient {
    Time asked = never, answered = never;
    bool surveyed = false;
    HostSurvey survey;
    std::vector<PairTry> tries;
    bool tried = false;  // and has said with what result
  };

  Patient& patient(int node) { return patients_[static_cast<std::size_t>(node)]; }
  void on(int node, const NodeReady& ready, Time now);
  void on(int node, const NodeCannot& cannot, Time now);
  void on(int node, const ReachAnswer& answer, Time now);
  template <class Other>
  void on(int node, const Other&, Time now);
  void file(int node, const char* check);
  void expire(int node, Time now);
  void settle(Time now);
  void ask_for_pairs(Time now);
  void examine();
  void look_at_access();
  void look_at_clocks();
  void look_at_network();
  void add(std::vector<CheckRow> rows);
  void show(const std::string& verdict, int code);
  WallTime wall(Time time) const;

  HostTable table_;
  Gathering gathering_;
  Instant start_;
  Phase phase_ = Phase::gather;
  std::vector<Patient> patients_;
  std::vector<std::string> names_;
  std::size_t filed_ = 0;  // of the table's problems
  std::vector<CheckRow> rows_;
};

}  // namespace launch
