// One process of launch on a Network. It carries out what its session asks of the network, as app/session_runner does
// on sockets, and ends, in order or not.
#pragma once

#include "network.hpp"

#include "launch/core/session/session_action.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace launch::play {

class Process {
 public:
  Process(Network& network, std::string host, std::function<void(Answer)> on_answer)
      : network_(network), host_(std::move(host)), on_answer_(std::move(on_answer)) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { end(); }

  const std::string& host() const { return host_; }
  bool alive() const { return life_ != nullptr; }
  std::weak_ptr<int> life() const { return life_; }
  const std::shared_ptr<Store>& job_store() const { return job_store_; }
  const std::vector<std::string>& lines() const { return lines_; }
  // Each time that another node became the host of the store, as far as this process knows.
  const std::vector<HostMoved>& moved() const { return moved_; }
  Moment moment() const;

  // Its kernel closes what it had open.
  void end();
  // Its machine has lost power, and nobody hears of it.
  void vanish();
  // Calls `what` at `when`, or as soon as its machine is no longer paused; never after its end.
  void when_awake(Time when, std::function<void()> what);
  // Calls `on_moment` at `deadline`, instead of at a later one that was asked for before.
  void wake_at(Time deadline, std::function<void()> on_moment);

  void carry_out(Ask action);
  void carry_out(const Beat& action);
  void carry_out(const WakeLink& action);
  void carry_out(const PartLink& action);
  void carry_out(const CloseLink& action);
  void carry_out(PrepareStore action) {
    if (const auto last = std::exchange(job_store_, nullptr)) network_.end_store(last, true);
    prepared_ = std::move(action);
    pointed_ = {};
  }
  void carry_out(const PointTo& action) {
    pointed_ = action;
    if (job_store_) job_store_->agents().point_to(action.key, action.job);
  }
  void carry_out(const FenceStore& action);
  // As in app/session_runner.
  void watch_answers();
  Time last_answered() const;
  void carry_out(const HostMoved& action) { moved_.push_back(action); }
  void carry_out(const StopAwaiting& /*action*/) { hurried_ = true; }
  void carry_out(const Say& action);

 protected:
  bool hosts_by_launch_ = true;  // its store is one of launch; otherwise of torchrun

 private:
  void answer(QuestionId id, const OpenLink& question);
  void answer(QuestionId id, const AskStore& question);
  void answer(QuestionId id, const Listen& question);
  Listening listen(const Listen& question);
  void answer(QuestionId id, const OpenDoor& question);
  void answer(QuestionId id, const AwaitNoClients& question);
  void answer(QuestionId id, const CountNodes& /*question*/) {
    const auto others = job_store_ ? job_store_->agents().others() : Membership::Others();
    reply(id, Nodes{others.all, others.leaving});
  }
  void answer(QuestionId id, const FindFreePort& question);
  void answer(QuestionId id, const LocateHost& question);
  void answer(QuestionId id, const LookForAgent& question);
  void reply(QuestionId id, AnswerValue value) { on_answer_({id, std::move(value)}); }

  Network& network_;
  std::string host_;
  std::function<void(Answer)> on_answer_;
  std::shared_ptr<int> life_ = std::make_shared<int>(0);
  std::shared_ptr<Store> job_store_, workers_store_;
  PrepareStore prepared_;
  PointTo pointed_;
  LinkId watched_ = 0;
  Time last_answered_{};
  std::map<LinkId, std::shared_ptr<Link>> links_;
  bool hurried_ = false;
  Time armed_ = never;  // the next moment that somebody waits for
  std::vector<std::string> lines_;
  std::vector<HostMoved> moved_;
};

}  // namespace launch::play
