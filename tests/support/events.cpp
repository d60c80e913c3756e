#include "events.hpp"

#include <algorithm>
#include <utility>

namespace launch::play {
using namespace std::chrono_literals;

namespace {

constexpr std::size_t longest_story = 400;

}  // namespace

void Events::step() {
  Plan next = std::move(const_cast<Plan&>(heap_.top()));  // this does not change the order of the heap
  heap_.pop();
  now_ = next.when;
  ++steps_;
  next.what();
}

void Events::run_until(Time end) {
  while (!heap_.empty() && heap_.top().when <= end) step();
  now_ = std::max(now_, end);
}

bool Events::run_until(const std::function<bool()>& done, Duration limit) {
  const Time end = later(now_, limit);
  while (!done() && !heap_.empty() && heap_.top().when <= end) step();
  return done();
}

void Events::note(std::string_view fact) {
  for (const char c : tell(std::string(fact))) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
}

const std::string& Events::tell(std::string words) {
  if (story_.size() == longest_story) story_.pop_front();
  return story_.emplace_back(std::to_string((now_ - Time(1h)) / 1us) + " us: " + std::move(words));
}

}  // namespace launch::play
