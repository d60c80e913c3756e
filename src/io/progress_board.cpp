#include "launch/io/progress_board.hpp"

#include "launch/core/progress/progress_reader.hpp"
#include "launch/io/clock.hpp"

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
    const std::lock_guard lock(mutex);
    const Time before = now();
    heard_at = before;
    if (!ear.reader) return;
    if (const auto seen = ear.reader->feed(bytes, before)) watch.saw(ear.local_rank, *seen);
    const Time after = now();
    ear.reader->spent(after - before, after);
  }

  std::optional<ProgressPattern> pattern;
  std::mutex mutex;
  ProgressWatch watch;
  std::vector<std::shared_ptr<Ear>> ears;
  std::optional<Time> heard_at;
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
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->pattern) return {};
  const Time at = now();
  for (const auto& ear : shared_->ears)
    if (const auto seen = ear->reader->settle(at)) shared_->watch.saw(ear->local_rank, *seen);
  return shared_->watch.known(at);
}

std::optional<Time> ProgressBoard::heard_at() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->heard_at;
}

}  // namespace launch
