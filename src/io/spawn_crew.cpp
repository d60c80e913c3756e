#include "launch/io/spawn_crew.hpp"

#include <algorithm>
#include <utility>

namespace launch {

SpawnCrew::SpawnCrew(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {
  for (auto& slots : slots_) slots = std::make_shared<StreamSlots>();
}

void SpawnCrew::call(std::size_t helpers, const std::function<void(std::size_t member)>& job) {
  for (std::size_t i = 0; i < std::min(helpers, helpers_.size()); ++i) {
    if (!helpers_[i]) helpers_[i] = std::make_unique<DiskThread>(executor_);
    helpers_[i]->give([job, member = i + 1] { job(member); });
  }
}

}  // namespace launch
