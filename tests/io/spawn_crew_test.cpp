#include "launch/io/spawn_crew.hpp"

#include "no_threads.hpp"

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>

namespace launch::spawn_crew_test {

using testing::ElementsAre;
using testing::Key;
using testing::Pair;

// Which threads did a job, by the number of the member.
struct Seen {
  std::mutex mutex;
  std::map<std::size_t, pid_t> threads;
  std::promise<void> all;
};

class ASpawnCrew : public testing::Test {
 protected:
  std::map<std::size_t, pid_t> call(std::size_t helpers) {
    const auto seen = std::make_shared<Seen>();
    crew_.call(helpers, [seen, helpers](std::size_t member) {
      const std::lock_guard lock(seen->mutex);
      seen->threads[member] = ::gettid();
      if (seen->threads.size() == helpers) seen->all.set_value();
    });
    seen->all.get_future().wait();
    const std::lock_guard lock(seen->mutex);
    return seen->threads;
  }

  boost::asio::io_context io_{1};
  SpawnCrew crew_{io_.get_executor()};
};

TEST_F(ASpawnCrew, EachHelperIsAThreadOfItsOwnThatKnowsItsNumber) {
  const auto threads = call(3);
  EXPECT_THAT(threads, ElementsAre(Key(1), Key(2), Key(3)));
  std::set<pid_t> different{::gettid()};
  for (const auto& [member, thread] : threads) different.insert(thread);
  EXPECT_EQ(different.size(), 4U);
}

TEST_F(ASpawnCrew, TheThreadsAreKept) {
  const auto first = call(2);
  EXPECT_EQ(call(2), first);
}

TEST_F(ASpawnCrew, HasNoMoreHelpersThanItsSize) {
  const NoThreads none;
  std::set<std::size_t> seen;
  crew_.call(100, [&seen](std::size_t member) { seen.insert(member); });
  EXPECT_THAT(seen, ElementsAre(1U, 2U, 3U));
}

TEST_F(ASpawnCrew, EachMemberHasSlotsOfItsOwn) {
  std::set<int> numbers;
  for (std::size_t member = 0; member < SpawnCrew::size; ++member)
    for (std::size_t stream = 0; stream < 3; ++stream) numbers.insert(crew_.slots(member)->slot(stream));
  EXPECT_EQ(numbers.size(), 3 * SpawnCrew::size);
}

TEST_F(ASpawnCrew, TheCallerDoesTheirPartWhereNoThreadCanBeHad) {
  const NoThreads none;
  EXPECT_THAT(call(2), ElementsAre(Pair(1U, ::gettid()), Pair(2U, ::gettid())));
}

}  // namespace launch::spawn_crew_test
