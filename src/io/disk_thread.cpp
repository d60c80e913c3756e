#include "launch/io/disk_thread.hpp"

#include "launch/io/clock.hpp"

#include <boost/asio/post.hpp>

#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace launch {
namespace {

// A thread inherits the signal mask of the thread that makes it.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

// What the thread and its owner share; it lives until both have ended.
struct DiskThread::Shared {
  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return over || !jobs.empty(); });
      if (over) return;
      {
        const std::function<void()> job = std::move(jobs.front());
        jobs.pop_front();
        lock.unlock();
        job();
      }
      lock.lock();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> jobs;
  bool over = false;
  bool runs = false;  // there is a thread; only the owner uses this
};

DiskThread::DiskThread(boost::asio::any_io_executor executor)
    : executor_(std::move(executor)), shared_(std::make_shared<Shared>()) {}

DiskThread::~DiskThread() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->over = true;
    dropped.swap(shared_->jobs);
  }
  shared_->changed.notify_one();
}

void DiskThread::give(std::function<void()> job) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->jobs.push_back(std::move(job));
  }
  if (shared_->runs) return shared_->changed.notify_one();
  const AllSignalsBlocked blocked;
  try {
    std::thread([shared = shared_] { shared->work(); }).detach();  // it finds the job at once, and need not be woken
    shared_->runs = true;
  } catch (const std::system_error&) {
    job = std::move(shared_->jobs.back());
    shared_->jobs.clear();
    job();  // the next job tries again
  }
}

void DiskThread::tell(Shared& shared, const boost::asio::any_io_executor& executor, std::function<void()> result) {
  const std::lock_guard lock(shared.mutex);  // until then the executor is there
  if (!shared.over) boost::asio::post(executor, std::move(result));
}

bool DiskThread::is_over(Time deadline) { return now() >= deadline; }

boost::asio::steady_timer::time_point DiskThread::when(Time deadline) { return to_steady(deadline); }

}  // namespace launch
