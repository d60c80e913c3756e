#include "agents.hpp"

namespace launch::sim {

SimAgent::SimAgent(World& world, Referee& referee, AgentSpec spec)
    : world_(world),
      referee_(referee),
      spec_(std::move(spec)),
      client_(
          world,
          [this](const Outcome& outcome) {
            if (alive_) on(outcome);
          },
          [this] {
            has_slept_ = false;
            if (alive_) expelled();
          }) {}

void SimAgent::kill() {
  world_.note(name() + " is killed");
  die();
}

void SimAgent::unplug() {
  world_.note(name() + " loses its power");
  client_.part();
  die();
}

// Its workers stand still, too.
void SimAgent::freeze(Duration duration) {
  world_.note(name() + " stands still for " + to_text(duration));
  trouble_until_ = world_.now() + duration;
  client_.freeze_until(world_.now() + duration);
  has_slept_ = true;
  const auto counted = counted_;
  rest();
  if (!counted) return;
  world_.at(world_.now() + duration, [this, round = *counted] {
    if (alive_ && world_.hosted()) run(round);
  });
}

void SimAgent::cut(Duration duration) {
  world_.note(name() + " is cut off for " + to_text(duration));
  const Time end = trouble_until_ = world_.now() + duration;
  const Time give_up = client_.cut_until(end);
  if (!world_.hosted() || give_up >= end) return;
  world_.at(give_up, [this] {
    if (alive_) lost_the_store();
  });
}

// Who was expelled while it stood still learns of it a moment after it goes on, which nobody can help.
void SimAgent::run(std::int64_t round) {
  if (!referee_.judges(self()) || (has_slept_ && !client_.is_open())) return;
  counted_ = round;
  referee_.run(round);
}

void SimAgent::rest() {
  if (counted_) referee_.rest(*counted_);
  counted_.reset();
}

void SimAgent::die() {
  rest();
  alive_ = false;
  round_.reset();
  client_.close();
}

}  // namespace launch::sim
