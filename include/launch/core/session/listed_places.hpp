// The places of a c10d job's store that --rdzv-endpoint lists: which of them are this node's, and at which the job is.
// All are asked at once: a store in which the job lives is what ElasticStore looks for, and an agent that does not host
// it says where it is, by the wish `where` (docs/store_protocol.md). Used by ElasticStore. It never founds a job, and
// hosts nothing: core/c10d/founding says when the first of the list may. Where a single host is named it does nothing.
#pragma once

#include "launch/core/c10d/founding.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/session/store_link.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace launch {

class ListedPlaces {
 public:
  // Both must outlive it.
  ListedPlaces(Stage& stage, const Config& config);

  // There is a list.
  bool exist() const { return !places_.empty(); }
  // Finds out which places are this node's: those with the address that --local-addr gives it, else those whose name or
  // address leads to this machine.
  Talk<void> locate(Time by);
  const std::vector<Endpoint>& own() const { return own_; }
  // This node is the one that founds the job.
  bool founds() const { return founds_; }

  struct Found {
    StoreLink link;
    Endpoint at;  // as the others know it
  };
  // Asks all of them, once. A store in which no job of this id has begun counts at the first place only, and only if
  // nobody knows of the job; on the node that founds it, only if it could found it. `waited`: as in may_found().
  Talk<std::optional<Found>> ask(Time by, bool waited);
  // As core/c10d/founding says. Another place that is this machine, too, says nothing about the others.
  bool may_found(bool waited) const;
  // What the last ask() has found, for a person: "n1:29400 does not answer".
  std::string findings() const;

 private:
  Talk<void> locate_all(Time by);
  Talk<void> locate_one(std::size_t at, Time by);
  bool is_known() const { return std::find(here_.begin(), here_.end(), true) != here_.end(); }
  Talk<void> ask_at(std::size_t at, Time by);
  // Where the search goes from one place.
  struct Step {
    Hearsay said = Hearsay::silent;
    std::optional<StoreLink> link{};  // the job is there
    std::optional<StoreDoor> next{};  // it is said to be there
    std::optional<StoreLink> open{};  // no job is there, but one could begin
  };
  Talk<Step> look_at(StoreDoor door, Time by);
  Talk<Step> look_twice_at(StoreDoor door, Time by);
  // The founder need not hear from itself.
  void note(std::size_t at, Hearsay said) {
    const bool is_self = founds_ && at == 0 && said == Hearsay::silent;
    said_[at] = is_self ? Hearsay::nobody : said;
  }
  Talk<Step> ask_launch(StoreLink link, bool begun, Time by);
  bool may_use_open(bool waited) const;
  void end_one() {
    --open_;
    heard_.ring();
  }

  Stage& stage_;
  const Config& config_;
  const std::vector<Endpoint>& places_;
  std::vector<bool> here_;
  std::vector<Endpoint> own_;
  bool founds_ = false;
  std::vector<Hearsay> said_;
  std::string told_;  // where the job is said to be, as it was heard last
  std::optional<Found> found_;
  std::optional<Found> empty_;  // the store at the first place, in which no job has begun
  std::size_t open_ = 0;        // talks that have not ended
  Bell heard_;
};

}  // namespace launch
