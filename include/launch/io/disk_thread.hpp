// One thread for what may wait for a disk (files, folders, exec), so that its owner can go on talking to others.
//
// Jobs are done one after the other, in the order in which they were given. The thread is made for the first job and
// kept, because the workers that are made on it die with it (io/spawn). It has every signal blocked. If the system
// refuses a thread, the caller does the job itself. A job that never ends does not hold up the owner, which leaves it
// behind.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/io/deadline.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace launch {

class DiskThread {
 public:
  explicit DiskThread(boost::asio::any_io_executor executor);
  // Jobs that have not begun are dropped, and nobody waits for the one that is being done, whose result is dropped.
  // The executor must live until then.
  ~DiskThread();
  DiskThread(const DiskThread&) = delete;
  DiskThread& operator=(const DiskThread&) = delete;

  // Gives a job that nobody waits for.
  void give(std::function<void()> job);

  // What `work` returns; nullopt: it had not returned by `deadline`. It may still run later, so it must own what it
  // needs.
  template <class Work>
  boost::asio::awaitable<std::optional<std::invoke_result_t<Work>>> run_until(Time deadline, Work work) {
    using Made = std::invoke_result_t<Work>;
    const auto job = std::make_shared<Job<Made>>(executor_);
    // The thread may outlive all that belongs to the executor, so it holds nothing of that: neither `job`, which has a
    // timer. What the work owns is released before its result is told, so that nothing of it is left to the thread.
    auto to_do = [shared = shared_, executor = executor_, made = std::make_shared<std::optional<Made>>(),
                  waiting = std::weak_ptr(job), mine = std::make_optional(std::move(work))]() mutable {
      made->emplace((*mine)());
      mine.reset();
      tell(*shared, executor, [made = std::move(made), waiting = std::move(waiting)] {
        const auto owner = waiting.lock();
        if (!owner) return;
        owner->result.emplace(std::move(**made));
        owner->ended.cancel();
      });
    };
    give(std::move(to_do));
    while (!job->result && !is_over(deadline)) {
      job->ended.expires_at(when(deadline));
      (void)co_await job->ended.async_wait(as_values);
    }
    co_return std::move(job->result);
  }

  // The same, however long it takes.
  template <class Work>
  boost::asio::awaitable<std::invoke_result_t<Work>> run(Work work) {
    auto task = run_until(never, std::move(work));
    auto result = co_await std::move(task);
    co_return *std::move(result);
  }

 private:
  struct Shared;
  template <class Result>
  struct Job {
    explicit Job(const boost::asio::any_io_executor& executor) : ended(executor) {}
    boost::asio::steady_timer ended;
    std::optional<Result> result;
  };

  // Posts it, unless the owner has gone; called by the thread.
  static void tell(Shared& shared, const boost::asio::any_io_executor& executor, std::function<void()> result);
  static bool is_over(Time deadline);
  static boost::asio::steady_timer::time_point when(Time deadline);

  boost::asio::any_io_executor executor_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace launch
