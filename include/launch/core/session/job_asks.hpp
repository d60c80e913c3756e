// What the nodes of a running job ask each other, by keys of the job's store: while a round lasts, this node hears what
// the others ask, and may ask all others something itself. Owned by Session, begun with each round by the kinds of
// session that have other nodes. What is asked and answered means nothing here. It never tells of a lost store, which
// the round's watch does, and it never makes anybody wait: its links have no will, and are closed with the round.
#pragma once

#include "launch/core/job/endpoint.hpp"
#include "launch/core/job/rank.hpp"
#include "launch/core/session/store_link.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

// The longest text that is asked or answered.
inline constexpr std::size_t most_asked_bytes = std::size_t{64} * 1024;

// The fault of a node that is torchrun's.
inline constexpr std::string_view torchruns_fault = "torchrun's node: it cannot be asked";

class JobAsks {
 public:
  struct Place {
    Endpoint store;
    std::string prefix;  // of the round's keys
    NodeRank own{};
    int nnodes = 1;
    std::optional<std::vector<NodeRank>> launch_nodes{};  // nullopt: those that have claimed their ranks
  };

  // The stage must outlive it. Unless it works, it uses no link, and all that is asked has no answers.
  JobAsks(Stage& stage, bool works) : stage_(stage), works_(works), hearing_(stage), asking_(stage) {}
  JobAsks(const JobAsks&) = delete;
  JobAsks& operator=(const JobAsks&) = delete;

  // The round has formed.
  void begin(Place place);
  // The round is over: closes all links; what has not been answered never will be.
  void stop();

  void ask(const AskJob& event);
  void answer(const AnswerAsk& event);

 private:
  using Ticket = std::uint64_t;
  struct Reply {
    std::uint64_t number;  // of the key of what was asked
    std::string text;
  };
  using Texts = std::map<NodeRank, std::string>;

  Talk<void> hear();
  Talk<Status> read_next();
  Talk<Status> send_replies();

  Talk<void> ask_others(Ticket ticket, AskJob event);
  Talk<Result<Texts>> gather(AskJob event);
  Talk<std::vector<NodeRank>> find_launch_nodes(StoreLink& link, Time deadline);
  Talk<Result<std::uint64_t>> put(StoreLink& link, std::string text, Time deadline);
  Talk<Result<Texts>> take_answers(StoreLink& link, std::uint64_t number, std::vector<NodeRank> nodes);
  Talk<void> sweep(StoreLink& link, std::uint64_t number);
  Talk<void> clear(StoreLink& link, std::uint64_t number, std::vector<NodeRank> nodes);
  std::vector<NodeAnswer> others_with(const std::string& fault) const;
  std::vector<NodeAnswer> answers_of(const Texts& texts, const std::string& missing) const;
  Time quickly() const;

  Stage& stage_;
  bool works_;
  std::optional<Place> place_;             // of the round; nullopt: there is none
  std::optional<StoreLink> link_;          // on which this node hears what others ask
  std::uint64_t swept_ = 0;                // the last number whose key is removed
  std::uint64_t next_ = 1;                 // the number of what is asked next
  Ticket tickets_ = 0;                     // over all rounds, so that none is taken for one of another round
  std::map<Ticket, std::uint64_t> asked_;  // of this node, and not answered yet: the number of its key
  std::deque<Reply> replies_;              // which the others do not know yet
  std::map<Ticket, std::uint64_t> asks_;   // by this node, under way: the id of each
  Scope hearing_;
  Scope asking_;
};

}  // namespace launch
