// A Session on a Network, without an agent: what it tells its agent goes to the owner's ears.
#pragma once

#include "process.hpp"

#include "launch/core/config/config.hpp"
#include "launch/core/session/session.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace launch::play {

struct SessionEars {
  std::function<void(AgentEvent event, bool first)> tell;
  std::function<void()> others_told = [] {};
  std::function<void(Account all)> account_shared = [](const Account&) {};
  std::function<void()> ended = [] {};
  std::function<void(Asked asked)> asked = [](const Asked&) {};
  std::function<void(JobAnswered answered)> job_answered = [](const JobAnswered&) {};
};

class SessionHost : public Process {
 public:
  SessionHost(Network& network, std::string host, const Config& config, SessionEars ears);

  Status open();
  void feed(SessionEvent event);

 private:
  using Process::carry_out;
  void carry_out(Tell action) { ears_.tell(std::move(action.event), action.first); }
  void carry_out(const LimitGrace& /*action*/) {}
  void carry_out(const ForgetRound& /*action*/) {}
  void carry_out(const SessionOpened& action) { opened_ = action.status; }
  void carry_out(const OthersTold& /*action*/) { ears_.others_told(); }
  void carry_out(AccountShared action) { ears_.account_shared(std::move(action.account)); }
  void carry_out(const SessionEnded& /*action*/) { ears_.ended(); }
  void carry_out(Asked action) { ears_.asked(std::move(action)); }
  void carry_out(JobAnswered action) { ears_.job_answered(std::move(action)); }

  SessionEars ears_;
  std::unique_ptr<Session> session_;
  std::deque<SessionEvent> events_;
  bool feeding_ = false;
  std::optional<Status> opened_;
};

}  // namespace launch::play
