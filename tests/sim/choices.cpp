#include "choices.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace launch::sim {

namespace {

constexpr int most_tries = 2000;
constexpr std::clock_t most_time = 60 * CLOCKS_PER_SEC;  // of the processor, for these

// Changes a list in one way after the other, and keeps what still fails.
class Shortener {
 public:
  Shortener(Choices::List choices, const std::function<bool(Choices::List)>& fails, int tries)
      : best_(std::move(choices)), fails_(fails), tries_(tries) {}

  Choices::List run() {
    Choices::List before;
    while (before != best_ && tries_ > 0) {
      before = best_;
      for (std::size_t size = std::max<std::size_t>(best_.size() / 2, 1); size > 0; size /= 2) leave_out(size);
      for (std::size_t at = 0; at < best_.size(); ++at) lessen(at);
      while (!best_.empty() && best_.back() == 0) best_.pop_back();
    }
    return best_;
  }

 private:
  bool take(Choices::List list) {
    if (tries_-- <= 0 || !fails_(list)) return false;
    best_ = std::move(list);
    return true;
  }

  void leave_out(std::size_t size) {
    for (std::size_t end = best_.size(); end >= size; end = std::min(end - 1, best_.size())) {
      Choices::List list = best_;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(end - size),
                 list.begin() + static_cast<std::ptrdiff_t>(end));
      take(std::move(list));
    }
  }

  void lessen(std::size_t at) {
    for (std::uint64_t cut = best_[at]; cut > 0 && at < best_.size(); cut /= 2) {
      Choices::List list = best_;
      list[at] -= std::min(cut, list[at]);
      if (list[at] == best_[at]) return;
      if (take(std::move(list))) cut = std::min(cut, best_[at]);
    }
  }

  Choices::List best_;
  const std::function<bool(Choices::List)>& fails_;
  int tries_;
};

Choices::List read_list(const char* text) {
  std::istringstream words(text);
  Choices::List list;
  for (std::uint64_t choice = 0; words >> choice;) list.push_back(choice);
  return list;
}

std::string write_list(const Choices::List& list) {
  std::string text;
  for (const std::uint64_t choice : list) text += (text.empty() ? "" : " ") + std::to_string(choice);
  return text;
}

std::string name_of_test() {
  const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
  return fmt::format("{}.{}", test->test_suite_name(), test->name());
}

// Reports a seed that fails, with the fewest choices that still make it fail.
void tell_shortest(std::uint64_t seed, const Choices::List& made, const PlaySeed& play) {
  const std::clock_t give_up = std::clock() + most_time;
  const auto fails = [&](Choices::List list) {
    if (std::clock() > give_up) return false;
    Choices choices(std::move(list));
    return !play(seed, choices).faults.empty();
  };
  const Choices::List shortest = shorten(made, fails, most_tries);
  Choices choices(shortest);
  const Played played = play(seed, choices);
  ADD_FAILURE() << "seed " << seed << " fails; of its " << made.size() << " choices " << shortest.size()
                << " are enough:\n"
                << played.story << "LAUNCH_SIM_SEED=" << seed << " LAUNCH_SIM_CHOICES='" << write_list(shortest)
                << "' sim_tests --gtest_filter=" << name_of_test();
}

}  // namespace

bool Choices::odds(double probability) {
  if (!by_chance_) return keep(given(2)) == 1;
  return keep(static_cast<double>(dice_.next() >> 11U) * 0x1p-53 < probability ? 1 : 0) == 1;
}

std::size_t Choices::below(std::size_t end) { return keep(by_chance_ ? dice_.next() % end : given(end)); }

Duration Choices::between(Duration low, Duration high) {
  const auto width = static_cast<std::uint64_t>((high - low).count());
  const std::uint64_t more =
      by_chance_ ? static_cast<std::uint64_t>((dice_.between(low, high) - low).count()) : given(width);
  return low + Duration(static_cast<Duration::rep>(keep(more)));
}

std::uint64_t Choices::given(std::uint64_t end) {
  return made_.size() < given_.size() ? std::min(given_[made_.size()], end - 1) : 0;
}

std::uint64_t Choices::keep(std::uint64_t choice) {
  made_.push_back(choice);
  return choice;
}

Choices::List shorten(Choices::List choices, const std::function<bool(Choices::List)>& fails, int tries) {
  return Shortener(std::move(choices), fails, tries).run();
}

void play_seeds(std::uint64_t seeds, const PlaySeed& play) {
  if (const char* const wanted = std::getenv("LAUNCH_SIM_SEED"); wanted != nullptr) {
    const std::uint64_t seed = std::strtoull(wanted, nullptr, 10);
    const char* const given = std::getenv("LAUNCH_SIM_CHOICES");
    Choices choices = given != nullptr ? Choices(read_list(given)) : Choices(seed);
    const Played played = play(seed, choices);
    std::printf("%s", played.story.c_str());
    EXPECT_EQ(played.faults, std::vector<std::string>());
    return;
  }
  const char* const first = std::getenv("LAUNCH_SIM_FIRST");
  std::uint64_t seed = first != nullptr ? std::strtoull(first, nullptr, 10) : 1;
  for (const std::uint64_t end = seed + seeds; seed < end && !testing::Test::HasFailure(); ++seed) {
    Choices choices(seed);
    if (!play(seed, choices).faults.empty()) tell_shortest(seed, choices.made(), play);
  }
}

std::uint64_t wanted_seeds(std::uint64_t usual) {
  const char* const wanted = std::getenv("LAUNCH_SIM_SEEDS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : usual;
}

}  // namespace launch::sim
