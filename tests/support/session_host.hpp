// Carries out what a Session wants on a Network, as app/session_runner does on sockets. What it tells the agent goes to
// an owner; lines to the user are kept.
#pragma once

#include "network.hpp"

#include "launch/core/config/config.hpp"
#include "launch/core/session/session.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace launch::play {

// What is not the session's own business.
struct SessionEars {
  std::function<void(AgentEvent event, bool first)> tell;
  std::function<void(Duration grace)> limit_grace = [](Duration) {};
  std::function<void()> forget_round = [] {};
  std::function<void()> others_told = [] {};
  std::function<void(Account all)> account_shared = [](const Account&) {};
  std::function<void()> ended = [] {};
};

class SessionHost {
 public:
  SessionHost(Network& network, std::string host, const Config& config, SessionEars ears);
  SessionHost(const SessionHost&) = delete;
  SessionHost& operator=(const SessionHost&) = delete;
  ~SessionHost() { end(); }

  Status open();
  void feed(SessionEvent event);
  // The process ends, in order or not: its kernel closes what it had open.
  void end();
  // It ends with its machine, and nobody hears of it.
  void vanish();

  const std::vector<std::string>& lines() const { return lines_; }
  bool alive() const { return session_ != nullptr; }
  const std::string& host() const { return host_; }
  const std::shared_ptr<Store>& job_store() const { return job_store_; }

 private:
  void carry_out(Ask action);
  void carry_out(const Beat& action);
  void carry_out(const WakeLink& action);
  void carry_out(const PartLink& action);
  void carry_out(const CloseLink& action);
  void carry_out(PrepareStore action) { prepared_ = std::move(action); }
  void carry_out(const FenceStore& action);
  void carry_out(const StopAwaiting& /*action*/) { hurried_ = true; }
  void carry_out(Tell action) { ears_.tell(std::move(action.event), action.first); }
  void carry_out(const LimitGrace& action) { ears_.limit_grace(action.grace); }
  void carry_out(const ForgetRound& /*action*/) { ears_.forget_round(); }
  void carry_out(const Say& action) { lines_.push_back(action.text); }
  void carry_out(const SessionOpened& action) { opened_ = action.status; }
  void carry_out(const OthersTold& /*action*/) { ears_.others_told(); }
  void carry_out(AccountShared action) { ears_.account_shared(std::move(action.account)); }
  void carry_out(const SessionEnded& /*action*/) { ears_.ended(); }

  void answer(QuestionId id, const OpenLink& question);
  void answer(QuestionId id, const AskStore& question);
  void answer(QuestionId id, const Listen& question);
  void answer(QuestionId id, const AwaitNoClients& question);
  void answer(QuestionId id, const FindFreePort& question);
  void answer(QuestionId id, const LocateHost& question);
  void answer(QuestionId id, const LookForAgent& question);
  void await_no_clients(QuestionId id, AwaitNoClients question);
  void when_awake(Time when, std::function<void()> what);
  void set_timer();
  void reply(QuestionId id, AnswerValue value) { feed(Answer{id, std::move(value)}); }

  Network& network_;
  std::string host_;
  SessionEars ears_;
  std::unique_ptr<Session> session_;
  std::shared_ptr<int> life_ = std::make_shared<int>(0);  // of the process, for what comes after its end
  std::shared_ptr<Store> job_store_, workers_store_;
  PrepareStore prepared_;
  std::map<LinkId, std::shared_ptr<Link>> links_;
  std::deque<SessionEvent> events_;
  bool feeding_ = false;
  bool hurried_ = false;
  Time armed_ = never;
  std::optional<Status> opened_;
  std::vector<std::string> lines_;
};

}  // namespace launch::play
