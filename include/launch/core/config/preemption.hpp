// What the user wants if the scheduler takes the nodes back: by which signal the workers are warned, when the time of
// the job is up, and which ends of it mean that the scheduler is to start it again. Decides what exit code launch ends
// with then, and what it says of the time. Pure: it is told the time; agent/signal_desk knows whether there was a
// warning. It never asks a scheduler, and starts nothing again itself.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/config/restart_rules.hpp"

#include <optional>
#include <string>

namespace launch {

struct Preemption {
  int signal = 0;                   // the early warning: is passed on and, the first time, ends nothing; 0: none
  std::optional<WallTime> job_end;  // when the scheduler ends the job
  std::string job_end_from;
  Duration notice{};            // how long before that the workers are warned; zero: they are not
  EndSet requeue_on;            // ends of the job after which it is to be started again
  bool requeue_warned = false;  // and so is one that ended well, or by the warning, after the workers were warned
  int requeue_exit = 75;        // the exit code that says so to the scheduler
};

// By which the workers are warned if the time is nearly up.
int warning_signal(const Preemption& preemption);

// How long it is until they are to be warned; nullopt: they are not, or it is too late for that.
std::optional<Duration> time_until_warning(const Preemption& preemption, WallTime now);
// What the user is told if it is too late; empty: it is not.
std::string too_late_to_warn(const Preemption& preemption, WallTime now);

// "3 min (SLURM_JOB_END_TIME)", or "none: its time is up (...)"; empty: nobody has said when it is up.
std::string time_left(const Preemption& preemption, WallTime now);

// It says that the job is to be started again.
bool says_requeue(const Preemption& preemption, int exit_code);

// With which launch ends, if the job has ended with `code`. `warned`: its workers were warned.
int exit_code_for_scheduler(const Preemption& preemption, int code, bool warned);

}  // namespace launch
