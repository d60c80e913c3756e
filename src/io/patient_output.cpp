#include "launch/io/patient_output.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/outlet.hpp"

#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

std::string word_of_loss(std::size_t messages) {
  return fmt::format("launch: {} left out here: nobody was reading\n",
                     messages == 1 ? "1 message was" : fmt::format("{} messages were", messages));
}

}  // namespace

// What the thread and its owner share; it lives until both have ended. The functions are called with `mutex` held.
struct PatientOutput::Shared : std::enable_shared_from_this<Shared> {
  Shared(int fd, std::size_t most) : outlet(fd), room(most) {}

  using Lock = std::unique_lock<std::mutex>;

  bool idle() const { return !busy && kept.empty(); }
  bool fits(std::size_t size) const { return kept.empty() || kept.size() + size <= room; }

  void keep(std::string_view lines) {
    if (lost > 0) {
      const std::string word = word_of_loss(lost);
      if (fits(word.size() + lines.size())) {
        kept += word;
        lost = 0;
      }
    }
    if (lost > 0 || !fits(lines.size())) {
      ++lost;
    } else {
      kept += lines;
    }
  }

  // Writes what can be written at once, and leaves the rest to the thread.
  void go_on() {
    if (busy) return;
    while (outlet.prompt() && !kept.empty()) {
      const auto done = outlet.put(outlet.first_piece(kept));
      if (!done) break;
      kept.erase(0, *done);
    }
    if (kept.empty()) return;
    try {
      std::thread([self = shared_from_this()] { self->work(); }).detach();
      busy = true;
    } catch (const std::system_error&) {
      // No thread is available: the next message, or a flush, tries again.
      if (outlet.can_be_asked()) put_kept(now());
    }
  }

  void put_kept(Time give_up) {
    const std::string_view left = outlet.put_until(kept, give_up);
    kept.erase(0, kept.size() - left.size());
  }

  // The thread's work. A caller that cannot get a thread does it, too.
  void work_until(Time give_up, Lock& lock) {
    busy = true;
    while (true) {
      if (kept.empty() && lost > 0) kept = word_of_loss(std::exchange(lost, 0));
      if (kept.empty()) break;
      const std::string batch = std::exchange(kept, {});
      lock.unlock();
      const std::size_t left = outlet.put_until(batch, give_up).size();
      lock.lock();
      kept.insert(0, batch, batch.size() - left);
      if (left > 0) break;
    }
    busy = false;
    idled.notify_all();
  }

  void work() {
    Lock lock(mutex);
    work_until(never, lock);
  }

  const Outlet outlet;
  const std::size_t room;
  std::mutex mutex;
  std::condition_variable idled;
  std::string kept;
  std::size_t lost = 0;  // messages since `kept` was full
  bool busy = false;     // there is a thread, and nobody else may write
};

PatientOutput::PatientOutput(int fd, std::size_t room) : shared_(std::make_shared<Shared>(fd, room)) {}

void PatientOutput::write(std::string_view lines) {
  if (!shared_) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->keep(lines);
  shared_->go_on();
}

bool PatientOutput::offer(std::string_view text) {
  if (!shared_) return false;
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->idle()) return false;
  std::size_t done = 0;
  if (shared_->outlet.prompt()) {
    const auto put = shared_->outlet.put(text);
    if (!put) return false;
    done = *put;
  }
  shared_->kept = text.substr(done);
  shared_->go_on();
  return true;
}

bool PatientOutput::flush(Duration patience) {
  if (!shared_) return true;
  Shared::Lock lock(shared_->mutex);
  shared_->go_on();
  if (!shared_->busy) {
    shared_->work_until(later(now(), patience), lock);
    return shared_->idle();
  }
  return shared_->idled.wait_for(lock, patience, [this] { return shared_->idle(); });
}

}  // namespace launch
