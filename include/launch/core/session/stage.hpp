// Where the talks of a session run: it keeps who waits for what, hands out answers and moments, and gathers what must
// be done. It knows what time it is only from the event that is being handled. Used by Session and all its parts.
//
// Talks are started in a Scope, which is how they are given up together.
#pragma once

#include "launch/core/base/random.hpp"
#include "launch/core/session/session_action.hpp"
#include "launch/core/session/talk.hpp"

#include <coroutine>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace launch {

class Stage {
 public:
  class Wait;
  template <class AnswerType>
  class Asking;

  explicit Stage(std::uint64_t seed) : random_(seed) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // ---- for talks

  Time moment() const { return moment_.now.time; }
  Instant instant() const { return moment_.now; }
  Duration report_interval() const { return moment_.report_interval; }
  Random& random() { return random_; }

  void act(SessionAction action) { actions_.push_back(std::move(action)); }
  void tell(AgentEvent event) { act(Tell{std::move(event), false}); }
  void say(Say::Level level, std::string text) { act(Say{level, std::move(text)}); }
  LinkId new_link() { return ++links_; }

  // Asks and waits: `auto answer = co_await stage.ask<Opened>(OpenLink{...})`. AnswerType is the one of the question.
  template <class AnswerType>
  Asking<AnswerType> ask(Question question);
  Wait until(Time time);

  // ---- for the session

  void begin(const Moment& moment) { moment_ = moment; }
  // A talk of the session's whole life.
  void start(Talk<void> talk) { start(0, std::move(talk)); }
  // All talks end: before what they refer to does.
  void end() { roots_.clear(); }
  void answer(Answer answer);
  // Whoever waits for a moment that has come goes on, and so does all that has been rung for.
  void run();
  Time deadline() const;
  SessionActions take_actions() { return std::exchange(actions_, {}); }

 private:
  friend class Scope;
  friend class Bell;

  using ScopeId = std::uint64_t;
  struct Root {
    ScopeId scope;
    Talk<void> talk;
    bool runs = false;       // further out on this very stack
    bool abandoned = false;  // and is to end when it no longer does
  };

  void start(ScopeId scope, Talk<void> talk);
  void give_up(ScopeId scope);
  void go_on(std::coroutine_handle<> at, Root* root);
  void add(Wait& wait);
  void remove(Wait& wait);
  void wake(Wait& wait);

  Moment moment_{};
  Random random_;
  LinkId links_ = 0;
  QuestionId questions_ = 0;
  std::uint64_t waits_ = 0;
  ScopeId scopes_ = 0;
  SessionActions actions_;
  std::list<Root> roots_;
  Root* current_ = nullptr;  // whose talk runs
  std::map<QuestionId, Wait*> asked_;
  std::map<std::pair<Time, std::uint64_t>, Wait*> timed_;  // those of one moment in the order in which they began
};

// What a talk waits for. Lives in the talk's frame, and is forgotten with it.
class Stage::Wait {
 public:
  Wait(Stage& stage, QuestionId question, Time deadline) : stage_(stage), question_(question), deadline_(deadline) {}
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  ~Wait();

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> at);
  void await_resume() const noexcept {}

 protected:
  Stage& stage_;
  std::optional<AnswerValue> answer_;

 private:
  friend class Stage;

  QuestionId question_;  // 0: none
  Time deadline_;
  std::uint64_t number_ = 0;
  std::coroutine_handle<> at_;
  Root* root_ = nullptr;
};

template <class AnswerType>
class Stage::Asking : public Wait {
 public:
  using Wait::Wait;
  AnswerType await_resume() { return std::get<AnswerType>(*std::move(answer_)); }
};

template <class AnswerType>
Stage::Asking<AnswerType> Stage::ask(Question question) {
  const QuestionId id = ++questions_;
  act(Ask{id, std::move(question)});
  return Asking<AnswerType>(*this, id, never);
}

// Talks that end together: when it is destroyed, or told to give them up.
class Scope {
 public:
  explicit Scope(Stage& stage) : stage_(stage), id_(++stage.scopes_) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { give_up(); }

  // Runs until it waits for the first time.
  void start(Talk<void> talk) { stage_.start(id_, std::move(talk)); }
  // One that is running ends when it waits the next time.
  void give_up() { stage_.give_up(id_); }

 private:
  Stage& stage_;
  Stage::ScopeId id_;
};

// Wakes the talk that waits for it; there is one at a time. Must outlive that talk.
class Bell {
 public:
  class Ringing : public Stage::Wait {
   public:
    Ringing(Bell& bell, Time deadline) : Wait(bell.stage_, 0, deadline), bell_(bell) { bell.waiting_ = this; }
    Ringing(const Ringing&) = delete;
    Ringing& operator=(const Ringing&) = delete;
    ~Ringing() { bell_.waiting_ = nullptr; }

   private:
    Bell& bell_;
  };

  explicit Bell(Stage& stage) : stage_(stage) {}
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  // Until it rings, or `deadline`.
  Ringing rung(Time deadline) { return Ringing(*this, deadline); }
  void ring() {
    if (waiting_ != nullptr) stage_.wake(*waiting_);
  }

 private:
  Stage& stage_;
  Ringing* waiting_ = nullptr;
};

}  // namespace launch
