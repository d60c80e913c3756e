#include "launch/io/progress_board.hpp"

#include "launch/core/progress/progress_reader.hpp"
#include "launch/io/clock.hpp"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

namespace launch {

struct ProgressBoard::Shared {
  struct Ear {
    LocalRank local_rank{};
    std::optional<ProgressReader> reader;
  };

  Shared(std::optional<ProgressPattern> own_pattern, int nproc) : pattern(std::move(own_pattern)), watch(nproc) {}

  void hear(Ear& ear, std::string_view bytes) {
    heard_at = now();
    if (!ear.reader) return;
    const std::lock_guard lock(mutex);
    while (!bytes.empty()) {
      const Time before = now();
      const std::size_t size = ear.reader->next_feed(bytes, before);
      saw(ear, ear.reader->feed(bytes.substr(0, size), before), before);
      bytes.remove_prefix(size);
    }
  }

  void settle() {
    for (const auto& ear : ears) {
      const Time before = now();
      saw(*ear, ear->reader->settle(before), before);
    }
  }

  // After a look, which began at `before`.
  void saw(const Ear& ear, const std::optional<ProgressReader::Seen>& seen, Time before) {
    if (seen) watch.saw(ear.local_rank, *seen);
    const Time after = now();
    const auto until = budget.spent(after - before, after);
    if (!until) return;
    for (const auto& one : ears) one->reader->rest(*until);
  }

  std::optional<ProgressPattern> pattern;
  std::vector<std::shared_ptr<Ear>> ears;
  std::atomic<Time> heard_at{Time()};  // the beginning of time: never

  std::mutex mutex;  // held during a look at a line
  ProgressWatch watch;
  ProgressBudget budget;

  std::mutex of_known;  // held for moments
  std::vector<RankProgress> known;
};

ProgressBoard::ProgressBoard(std::optional<ProgressPattern> pattern, int nproc)
    : shared_(std::make_shared<Shared>(std::move(pattern), nproc)) {}

ProgressBoard::~ProgressBoard() = default;

StreamEar ProgressBoard::ear(LocalRank local_rank) {
  auto own = std::make_shared<Shared::Ear>();
  own->local_rank = local_rank;
  if (shared_->pattern) own->reader.emplace(*shared_->pattern);
  shared_->ears.push_back(own);
  return [shared = shared_, own](std::string_view bytes) { shared->hear(*own, bytes); };
}

std::vector<RankProgress> ProgressBoard::steps() {
  if (!shared_->pattern) return {};
  const std::unique_lock looking(shared_->mutex, std::try_to_lock);
  if (looking) shared_->settle();
  const std::lock_guard lock(shared_->of_known);
  if (looking) shared_->known = shared_->watch.known(now());
  return shared_->known;
}

std::optional<Time> ProgressBoard::heard_at() const {
  const Time at = shared_->heard_at;
  return at == Time() ? std::nullopt : std::optional(at);
}

}  // namespace launch
