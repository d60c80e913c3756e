#include "launch/core/session/stage.hpp"

#include <algorithm>

namespace launch {

Stage::Wait Stage::until(Time time) { return Wait(*this, 0, time); }

// ---- answers and moments

void Stage::answer(Answer answer) {
  const auto asked = asked_.find(answer.id);
  if (asked == asked_.end()) {  // the asker is gone, and nobody has the link
    const auto* opened = std::get_if<Opened>(&answer.value);
    if (opened != nullptr && opened->status) act(CloseLink{opened->link});
    return;
  }
  Wait& wait = *asked->second;
  wait.answer_ = std::move(answer.value);
  remove(wait);
  go_on(wait.at_, wait.root_);
}

// A wait whose bell has rung has its moment set to the beginning of time, so that it comes first.
void Stage::run() {
  while (!timed_.empty() && timed_.begin()->first.first <= moment()) {
    Wait& wait = *timed_.begin()->second;
    remove(wait);
    go_on(wait.at_, wait.root_);
  }
}

Time Stage::deadline() const { return timed_.empty() ? never : timed_.begin()->first.first; }

void Stage::wake(Wait& wait) {
  if (wait.number_ == 0) return;
  timed_.erase({wait.deadline_, wait.number_});
  wait.deadline_ = Time::min();
  timed_.emplace(std::pair(wait.deadline_, wait.number_), &wait);
}

// ---- waits

void Stage::add(Wait& wait) {
  wait.number_ = ++waits_;
  wait.root_ = current_;
  if (wait.question_ != 0) {
    asked_.emplace(wait.question_, &wait);
  } else {
    timed_.emplace(std::pair(wait.deadline_, wait.number_), &wait);
  }
}

void Stage::remove(Wait& wait) {
  if (wait.number_ == 0) return;
  asked_.erase(wait.question_);
  timed_.erase({wait.deadline_, wait.number_});
  wait.number_ = 0;
}

Stage::Wait::~Wait() { stage_.remove(*this); }

void Stage::Wait::await_suspend(std::coroutine_handle<> at) {
  at_ = at;
  stage_.add(*this);
}

// ---- talks

void Stage::start(ScopeId scope, Talk<void> talk) {
  roots_.push_back(Root{scope, std::move(talk)});
  Root& root = roots_.back();
  go_on(root.talk.handle(), &root);
}

void Stage::go_on(std::coroutine_handle<> at, Root* root) {
  Root* const outer = std::exchange(current_, root);
  root->runs = true;
  at.resume();
  root->runs = false;
  current_ = outer;
  if (!root->abandoned && !root->talk.done()) return;
  const auto ended = std::find_if(roots_.begin(), roots_.end(), [root](const Root& one) { return &one == root; });
  std::list<Root> gone;  // objects that end with it may give up other talks
  gone.splice(gone.end(), roots_, ended);
}

void Stage::give_up(ScopeId scope) {
  std::list<Root> gone;
  for (auto at = roots_.begin(); at != roots_.end();) {
    const auto next = std::next(at);
    if (at->scope == scope && at->runs) at->abandoned = true;
    if (at->scope == scope && !at->runs) gone.splice(gone.end(), roots_, at);
    at = next;
  }
}

}  // namespace launch
