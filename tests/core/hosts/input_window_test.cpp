#include "launch/core/hosts/input_window.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::input_window_test {

using Readers = HeadInput::Readers;

bool all_run(int) { return true; }

struct Row {
  HeadInput input;
  std::vector<int> workers;
  std::vector<int> readers;
};

TEST(InputWindow, WhichNodesGetIt) {
  for (const Row& row : std::vector<Row>{{{}, {2, 2}, {}},
                                         {{Readers::one, 0}, {2, 2}, {0}},
                                         {{Readers::one, 1}, {2, 2}, {0}},
                                         {{Readers::one, 2}, {2, 2}, {1}},
                                         {{Readers::one, 3}, {1, 0, 3}, {2}},
                                         {{Readers::one, 4}, {2, 2}, {}},
                                         {{Readers::one, 0}, {}, {}},
                                         {{Readers::one, 2'147'483'647}, {2'147'483'647, 1}, {1}},
                                         {{Readers::each, 0}, {2, 2, 1}, {0, 1, 2}}}) {
    const InputWindow window(row.input, row.workers);
    EXPECT_EQ(window.readers(), row.readers);
    for (int node = 0; node < 4; ++node)
      EXPECT_EQ(window.gets(node), testing::Value(row.readers, testing::Contains(node)));
    EXPECT_EQ(window.wants_more(all_run), !row.readers.empty());
  }
}

TEST(InputWindow, NoMoreIsReadThanTheSlowestTakes) {
  InputWindow window({Readers::each, 0}, {1, 1});
  window.sent(most_untaken);
  EXPECT_FALSE(window.wants_more(all_run));
  window.taken(0, 1000);
  EXPECT_FALSE(window.wants_more(all_run)) << "node 1 has taken nothing";
  window.taken(1, 1);
  EXPECT_TRUE(window.wants_more(all_run));
  window.sent(1);
  EXPECT_FALSE(window.wants_more(all_run));
  EXPECT_TRUE(window.wants_more([](int node) { return node == 0; })) << "node 1 has ended";
  EXPECT_FALSE(window.wants_more([](int) { return false; }));
}

TEST(InputWindow, ItsEndIsTheEnd) {
  InputWindow window({Readers::one, 0}, {1});
  window.sent(0);
  window.taken(0, 5);
  EXPECT_FALSE(window.wants_more(all_run));
}

TEST(InputWindow, WhatANodeSaysMakesItNoLarger) {
  InputWindow window({Readers::one, 1}, {1, 1});
  window.taken(1, 1'000'000'000'000);
  window.taken(0, 5);
  window.taken(7, 5);
  window.taken(1, -5);
  window.sent(most_untaken);
  EXPECT_FALSE(window.wants_more(all_run));
}

}  // namespace launch::input_window_test
