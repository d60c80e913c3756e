#include "launch/core/session/listed_places.hpp"

#include "launch/core/c10d/attendance.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration first_search = 1s;    // to look the names up
constexpr Duration longest_search = 8s;  // a name server that is away keeps nobody from its job
constexpr int most_pointers = 4;         // one after the other: a node may know of the last host only

// Whether nobody is there. A machine that is switched off, or to which there is no way, says nothing.
Hearsay without_link(const Error& error) {
  if (error.code == ErrorCode::protocol) return Hearsay::no_job;  // another program is
  return error.code == ErrorCode::no_listener ? Hearsay::nobody : Hearsay::silent;
}

// A process that closes the connection is there, but does not know a job, or is about to end.
Hearsay without_answer(const Error& error) {
  const bool closes = error.code == ErrorCode::closed || error.code == ErrorCode::protocol;
  return closes ? Hearsay::no_job : Hearsay::silent;
}

}  // namespace

ListedPlaces::ListedPlaces(Stage& stage, const Config& config)
    : stage_(stage), config_(config), places_(config.c10d()->places), here_(places_.size()), heard_(stage) {}

// ---- this node

Talk<void> ListedPlaces::locate(Time by) {
  const C10dChoice& choice = *config_.c10d();
  for (std::size_t at = 0; at < places_.size(); ++at) here_[at] = places_[at].host == choice.address;
  for (Duration look = first_search; !is_known() && look <= longest_search; look *= 2) {
    const Time until = std::min(by, later(stage_.moment(), look));
    co_await locate_all(until);
    if (stage_.moment() < until) break;  // all names are known
  }
  founds_ = here_[0];
  own_.clear();
  for (std::size_t at = 0; at < places_.size(); ++at)
    if (here_[at]) own_.push_back(places_[at]);
}

Talk<void> ListedPlaces::locate_all(Time by) {
  Scope looking(stage_);
  open_ = places_.size();
  for (std::size_t at = 0; at < places_.size(); ++at) looking.start(locate_one(at, by));
  while (open_ > 0) {
    auto one = heard_.rung(never);
    co_await one;
  }
}

Talk<void> ListedPlaces::locate_one(std::size_t at, Time by) {
  Question locate = LocateHost{places_[at].host, config_.hostname, by};
  auto locating = stage_.ask<Whereabouts>(std::move(locate));
  const Whereabouts found = co_await locating;
  if (at == 0 && found.here && found.elsewhere)
    stage_.say(Say::Level::warning, fmt::format("the name {} stands for this machine and for others, and each of them "
                                                "would found the job; name one of them in --rdzv-endpoint",
                                                places_[at].host));
  here_[at] = found.here;
  end_one();
}

// ---- the job

Talk<std::optional<ListedPlaces::Found>> ListedPlaces::ask(Time by, bool waited) {
  said_.assign(places_.size(), Hearsay::silent);
  told_.clear();
  found_.reset();
  empty_.reset();
  open_ = places_.size();
  Scope asking(stage_);
  for (std::size_t at = 0; at < places_.size(); ++at) asking.start(ask_at(at, by));
  while (!found_ && open_ > 0) {
    auto one = heard_.rung(never);
    co_await one;
  }
  const bool is_empty = !found_ && may_use_open(waited);
  auto found = std::exchange(is_empty ? empty_ : found_, std::nullopt);
  empty_.reset();
  co_return std::move(found);
}

bool ListedPlaces::may_use_open(bool waited) const {
  if (!empty_) return false;
  return founds_ ? may_found(waited) : std::count(said_.begin(), said_.end(), Hearsay::job) == 0;
}

bool ListedPlaces::may_found(bool waited) const {
  std::vector<Hearsay> said;
  for (std::size_t at = 0; at < said_.size(); ++at)
    if (at == 0 || !here_[at] || said_[at] == Hearsay::job) said.push_back(said_[at]);
  return founds_ && launch::may_found(said, waited);
}

// A host that gives up its store ends all connections, and opens its door again at once: then it knows of the job.
Talk<ListedPlaces::Step> ListedPlaces::look_twice_at(StoreDoor door, Time by) {
  Step step = co_await look_at(door, by);
  const bool is_sure = step.said == Hearsay::silent || step.said == Hearsay::job || step.open;
  if (is_sure) co_return step;
  co_return co_await look_at(std::move(door), by);
}

Talk<void> ListedPlaces::ask_at(std::size_t at, Time by) {
  StoreDoor door{places_[at], {}};
  for (int pointers = 0; pointers <= most_pointers; ++pointers) {
    Step step = co_await look_twice_at(door, by);
    if (pointers == 0) note(at, step.said);
    if (step.link && !found_) found_.emplace(Found{*std::move(step.link), door.at});
    if (step.open && at == 0 && pointers == 0) empty_.emplace(Found{*std::move(step.open), door.at});
    if (step.link || !step.next) break;
    door = *std::move(step.next);
    told_ = fmt::format("{} says that the job is at {}", to_text(places_[at]), to_text(door.at));
  }
  end_one();
}

// An agent that does not understand the wish `where` closes the connection. If the store has the state of the job, that
// is there all the same, and so it is at a store of torchrun.
Talk<ListedPlaces::Step> ListedPlaces::look_at(StoreDoor door, Time by) {
  auto link = co_await knock(stage_, door.at, by);
  if (!link) co_return Step{without_link(link.error())};
  KeyList keys{std::string(host_key), state_key(config_.run_id)};
  if (!door.store.empty()) keys.push_back(store_name_key(door.store));
  auto present = co_await link->check(std::move(keys), by);
  if (!present) co_return Step{without_answer(present.error())};
  const bool by_launch = present->at(0);
  const bool begun = present->at(1);
  const bool named = door.store.empty() || present->back();
  if (!named) co_return Step{Hearsay::no_job};
  if (by_launch) co_return co_await ask_launch(*std::move(link), begun, by);
  Step step;
  step.said = begun ? Hearsay::job : Hearsay::no_job;
  (begun ? step.link : step.open).emplace(*std::move(link));
  co_return step;
}

// `begun`: the state of the job is there.
Talk<ListedPlaces::Step> ListedPlaces::ask_launch(StoreLink link, bool begun, Time by) {
  const NodeDesc self{config_.hostname, config_.pid, launch_local_id};
  const Attendance said = visit(Attendance::Wish::where, self);
  Operation where = Attend{state_key(config_.run_id), to_json(said)};
  auto outcome = co_await link.perform(std::move(where), by);
  const auto* const told = outcome ? std::get_if<Told>(&*outcome) : nullptr;
  const auto news = told != nullptr ? parse_news(told->text) : Result<ElasticNews>(protocol_error("no news"));
  const Hearsay unheard = outcome ? Hearsay::no_job : without_answer(outcome.error());
  Step step{unheard};
  if (!news && begun) {
    step.said = Hearsay::job;
    auto again = co_await knock(stage_, link.peer(), by);
    if (again) step.link.emplace(*std::move(again));
  }
  if (!news) co_return step;
  const auto* const moved = std::get_if<RoundMoved>(&*news);
  const bool lives_here = std::holds_alternative<RoundWaits>(*news);
  if (lives_here || moved != nullptr) step.said = Hearsay::job;
  if (moved != nullptr) step.next = moved->job.door;
  if (moved == nullptr) (lives_here ? step.link : step.open).emplace(std::move(link));
  co_return step;
}

std::string ListedPlaces::findings() const {
  if (!told_.empty()) return told_;
  std::vector<std::string> silent;
  for (std::size_t at = 0; at < said_.size(); ++at)
    if (said_[at] == Hearsay::silent) silent.push_back(to_text(places_[at]));
  if (silent.empty()) return "no job is there yet";
  return fmt::format("{} {} not answer", fmt::join(silent, " and "), silent.size() == 1 ? "does" : "do");
}

}  // namespace launch
