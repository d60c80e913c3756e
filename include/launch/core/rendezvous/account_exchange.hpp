// How the nodes of a failed job tell each other how their workers ended, so that each can report on all of them: every
// node writes its account to the store, one node gathers these accounts and writes the sum of them. Only launch nodes
// take part. The keys are in docs/store_protocol.md.
//
// A machine: each step is an operation on the store, and deadline() bounds it. The node that gathers waits for missing
// accounts until the deadline of its place; the other nodes wait a little longer. If the store goes away, known() is
// all that there will be.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/store/store_operation.hpp"
#include "launch/core/verdict/verdict.hpp"

#include <optional>
#include <string>
#include <vector>

namespace launch {

struct ExchangePlace {
  std::string prefix;  // of the round's keys
  NodeRank node_rank{};
  NodeRank gatherer{};
  std::vector<NodeRank> others{};  // the other nodes; only set at the node that gathers
  Time deadline = never;
};

// Replaces the exchange for a node that leaves a job which may go on: nobody must wait for its account.
SetKeys leave_no_account(const ExchangePlace& place);

// For a node that leaves without waiting for the accounts of the others: its own one, as far as somebody gathers it.
SetKeys leave_account(const ExchangePlace& place, const Account& own);

struct ExchangeStep {
  struct Waiting {
    int ended = 0;
    int nodes = 0;  // of so many; 0: this node does not gather, and knows neither number
  };
  std::optional<Operation> next;   // none: the exchange is over
  std::optional<Waiting> waiting;  // for a line to the user
};

class AccountExchange {
 public:
  // `report_interval`: between two lines to the user.
  AccountExchange(ExchangePlace place, Account own, Duration report_interval);

  ExchangeStep start(Time now);
  ExchangeStep on(const Outcome& outcome, Time now);
  Time deadline() const { return deadline_; }
  // From now on it waits for nobody. The caller must cut short a wait that is under way.
  void hurry() { hurried_ = true; }

  // The account of all nodes, as far as it is known by now; at least that of this node.
  const Account& known() const { return all_; }

 private:
  enum class State {
    telling,  // this node's own account
    // At the node that gathers:
    waiting,  // for the accounts of the others
    looking,  // which are there
    reading,
    publishing,
    being_read,  // by the others: this node may host the store, which ends with it
    // At the others:
    receiving,  // the sum of all accounts, once it is there
    doubting,   // whether the node that gathers is still there
    fetching,
    acknowledging,  // also if nothing was received: nobody must wait for this node
  };

  ExchangeStep ask(State state, Operation operation, Time deadline);
  ExchangeStep wait(Time now);
  ExchangeStep looked(const std::vector<bool>& present, Time now);
  ExchangeStep read(KeyList present, Time now);
  ExchangeStep publish(const std::vector<std::string>& accounts, Time now);
  ExchangeStep receive(Time now);
  ExchangeStep expired(Time now);
  ExchangeStep doubted(const std::string& of_gatherer, Time now);
  ExchangeStep acknowledge(Time now);
  KeyList awaited() const;

  ExchangePlace place_;
  Account all_;
  Duration report_interval_;
  State state_ = State::telling;
  Time deadline_ = never;
  Time report_ = never;
  KeyList readers_;  // keys by which the nodes will say that they have read the sum
  bool hurried_ = false;
};

}  // namespace launch
