#include "launch/io/turns.hpp"

#include "launch/io/background.hpp"

#include <vector>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

namespace launch::turns_test {

class TurnsInOrder : public testing::Test {
 protected:
  boost::asio::awaitable<void> tell(int turn) {
    co_await turns_.come(turn);
    told_.push_back(turn);
    turns_.end(turn);
  }
  void work(int turn) {
    run_in_background(io_.get_executor(), tell(turn));
    io_.restart();
    io_.poll();
  }

  boost::asio::io_context io_{1};
  Turns turns_{io_.get_executor()};
  std::vector<int> told_;
};

TEST_F(TurnsInOrder, WhoIsReadyFirstWaitsForThoseThatBeganBefore) {
  EXPECT_TRUE(turns_.empty());
  const int one = turns_.begin(), two = turns_.begin(), three = turns_.begin();
  work(three);
  work(two);
  EXPECT_TRUE(told_.empty());
  EXPECT_FALSE(turns_.empty());
  work(one);
  EXPECT_EQ(told_, (std::vector{one, two, three}));
  EXPECT_TRUE(turns_.empty());
}

TEST_F(TurnsInOrder, OneAloneIsToldAtOnce) {
  for (int i = 0; i < 3; ++i) work(turns_.begin());
  EXPECT_EQ(told_, (std::vector{0, 1, 2}));
}

}  // namespace launch::turns_test
