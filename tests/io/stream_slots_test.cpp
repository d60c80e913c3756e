#include "launch/io/stream_slots.hpp"

#include <array>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace launch::stream_slots_test {

// Whether somebody still has the other end of this pipe open for writing.
bool has_writer(int read_end) {
  char byte = 0;
  return ::read(read_end, &byte, 1) != 0;
}

TEST(StreamSlots, HoldCopiesOfTheStreamsUntilTheyAreCleared) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  StreamSlots slots;
  ASSERT_TRUE(slots.fill({-1, write_end.get(), -1}));
  write_end.reset();
  EXPECT_TRUE(has_writer(read_end.get()));
  EXPECT_TRUE(write_all(slots.slot(1), "x"));
  char byte = 0;
  EXPECT_EQ(::read(read_end.get(), &byte, 1), 1);
  EXPECT_TRUE(has_writer(read_end.get()));
  slots.clear();
  EXPECT_FALSE(has_writer(read_end.get()));
}

TEST(StreamSlots, TheirEndIsAboveAllOfThem) {
  const StreamSlots slots;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GE(slots.slot(i), 3);
    EXPECT_LT(slots.slot(i), static_cast<int>(slots.end()));
    EXPECT_NE(::fcntl(slots.slot(i), F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST(StreamSlots, ThereAreNoneIfNoFileCanBeOpened) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{3, limit.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  StreamSlots slots;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(slots.end(), 0U);
  EXPECT_FALSE(slots.fill({-1, 1, 2}));
  slots.clear();
}

TEST(StreamSlots, NoneAreLeftOnceTheyAreGivenUp) {
  StreamSlots slots;
  slots.give_up();
  EXPECT_FALSE(slots.fill({0, 1, 2}));
  EXPECT_EQ(slots.end(), 0U);
}

}  // namespace launch::stream_slots_test
