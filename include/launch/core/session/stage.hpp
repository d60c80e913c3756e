// Where the talks of a session run: it knows which talk waits for what, passes on answers, wakes talks when their
// moment has come, and gathers what must be done. It knows the time only from the event that is being handled. Used by
// Session and all its parts.
//
// Talks are started in a Scope, by which they can be given up together.
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
  // Starts a talk that lives as long as the session.
  void start(Talk<void> talk) { start(0, std::move(talk)); }
  // Ends all talks; called before the objects that they refer to end.
  void end() { roots_.clear(); }
  void answer(Answer answer);
  // Continues the talks whose moment has come, and those whose bell has rung.
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
    bool runs = false;       // it runs further out on the current call stack
    bool abandoned = false;  // it was given up while it ran, and must end when it stops running
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
  Root* current_ = nullptr;  // the one whose talk runs
  std::map<QuestionId, Wait*> asked_;
  std::map<std::pair<Time, std::uint64_t>, Wait*> timed_;  // waits for one moment: in the order in which they began
};

// What a talk waits for. It lives in the talk's frame, and is forgotten when that ends.
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

// Talks that end together: when the scope is destroyed, or told to give them up.
class Scope {
 public:
  explicit Scope(Stage& stage) : stage_(stage), id_(++stage.scopes_) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { give_up(); }

  // The talk runs until it waits for the first time.
  void start(Talk<void> talk) { stage_.start(id_, std::move(talk)); }
  // A talk that is running ends when it waits the next time.
  void give_up() { stage_.give_up(id_); }

 private:
  Stage& stage_;
  Stage::ScopeId id_;
};

// Wakes the talk that waits for it; only one waits at a time. The bell must outlive that talk.
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

  // Waits until it rings, or until `deadline`.
  Ringing rung(Time deadline) { return Ringing(*this, deadline); }
  void ring() {
    if (waiting_ != nullptr) stage_.wake(*waiting_);
  }

 private:
  Stage& stage_;
  Ringing* waiting_ = nullptr;
};

}  // namespace launch
