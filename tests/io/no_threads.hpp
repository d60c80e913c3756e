// While one of these lives, this process can have no more threads, as where the user's limit is reached: the stack that
// each would get is larger than any address space.
#pragma once

#include <cstddef>

#include <gtest/gtest.h>
#include <pthread.h>

namespace launch {

class NoThreads {
 public:
  NoThreads() {
    pthread_attr_t huge;
    EXPECT_EQ(::pthread_getattr_default_np(&before_), 0);
    EXPECT_EQ(::pthread_attr_init(&huge), 0);
    EXPECT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{1} << 56), 0);
    EXPECT_EQ(::pthread_setattr_default_np(&huge), 0);
    ::pthread_attr_destroy(&huge);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  ~NoThreads() {
    EXPECT_EQ(::pthread_setattr_default_np(&before_), 0);
    ::pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_{};
};

}  // namespace launch
