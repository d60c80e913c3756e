// Workers that ended, and the sum of what several nodes tell of theirs.
// Used by the tests of the account
// and of the verdict that is made of it.
#pragma once

#include "launch/core/verdict/account.hpp"

#include <vector>

namespace launch {

inline WorkerEnd ended(int rank, int code) {
  return {GlobalRank(rank), LocalRank(rank), {ExitStatus::Kind::exited, code}, false};
}
inline WorkerEnd stopped(int rank, int signal) {
  return {GlobalRank(rank), LocalRank(rank), {ExitStatus::Kind::signalled, signal}, true};
}

inline Account together(std::vector<Account> accounts) {
  Account all;
  for (const Account& account : accounts) merge(all, account);
  return all;
}

}  // namespace launch
