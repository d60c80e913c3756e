// Carries out core/rendezvous/account_exchange on a link. Used by both kinds of session at the end of a job that has
// failed. It waits for others only as long as its place allows, and less once hurry() was called. A network error is
// not an error here: what could not be learnt is missing from the account, and the report says from which nodes.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/rendezvous/account_exchange.hpp"
#include "launch/core/session/store_link.hpp"

#include <optional>

namespace launch {

// How long, at most, a node needs for its workers from the signal on: until they and the command after them have ended.
Duration most_for_workers_end(const Config& config);

// The same from the failure on, whichever node it is on.
Duration most_for_end(const Config& config);

// The first of `place.others` gathers the accounts of the rest. Without any of them there is no gatherer.
ExchangePlace gathered_by_first(ExchangePlace place);

class EndAccount {
 public:
  // A store that is gone is not worth a longer wait.
  static constexpr Duration to_connect = std::chrono::milliseconds(500);

  // Returns what is known of all nodes by then; at least this node's own account.
  Talk<Account> share(StoreLink link, ExchangePlace place, Account own);
  // For a node that leaves a job which may go on.
  Talk<void> stay_out(StoreLink link, ExchangePlace place);
  // share() will return soon.
  void hurry();

 private:
  std::optional<StoreLink> link_;
  std::optional<AccountExchange> exchange_;
  bool hurried_ = false;
};

}  // namespace launch
