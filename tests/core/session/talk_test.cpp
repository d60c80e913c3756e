#include "launch/core/session/talk.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace launch::talk_test {

// Stops until somebody goes on with it.
struct Pause {
  std::coroutine_handle<>* at;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> here) const { *at = here; }
  void await_resume() const {}
};

struct Mark {
  explicit Mark(std::vector<std::string>& said) : list(&said) {}
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark() { list->push_back("gone"); }
  std::vector<std::string>* list;
};

Talk<int> half(std::coroutine_handle<>* at, std::vector<std::string>* said) {
  const Mark mark(*said);
  Pause pause{at};
  co_await pause;
  co_return 21;
}

Talk<void> whole(std::coroutine_handle<>* at, std::vector<std::string>* said) {
  said->push_back("begins");
  const int first = co_await half(at, said);
  const int second = co_await half(at, said);
  said->push_back(std::to_string(first + second));
}

TEST(Talk, ItBeginsWhenItIsStartedAndGoesOnWhereItWaited) {
  std::vector<std::string> said;
  std::coroutine_handle<> at;
  const Talk<void> talk = whole(&at, &said);
  EXPECT_TRUE(said.empty());
  talk.handle().resume();
  EXPECT_EQ(said, (std::vector<std::string>{"begins"}));
  at.resume();
  EXPECT_FALSE(talk.done());
  at.resume();
  EXPECT_TRUE(talk.done());
  EXPECT_EQ(said, (std::vector<std::string>{"begins", "gone", "gone", "42"}));
}

TEST(Talk, GivenUpItTakesAllThatItHasBegunWithIt) {
  std::vector<std::string> said;
  std::coroutine_handle<> at;
  {
    const Talk<void> talk = whole(&at, &said);
    talk.handle().resume();
  }
  EXPECT_EQ(said, (std::vector<std::string>{"begins", "gone"}));
}

Talk<std::unique_ptr<int>> make(int value) { co_return std::make_unique<int>(value); }

Talk<void> take(int* into) {
  auto made = co_await make(7);
  *into = *made;
}

TEST(Talk, ResultsMayOnlyBeMovable) {
  int value = 0;
  const Talk<void> talk = take(&value);
  talk.handle().resume();
  EXPECT_EQ(value, 7);
}

}  // namespace launch::talk_test
