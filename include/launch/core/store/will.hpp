// What the store's host does when it loses an agent: when the connection that has left the will ends, or falls silent.
// It tells the others. But as long as the ranks of a static job have not been assigned, it removes the agent's claim of
// its rank instead: then the job waits for this node as if it had never joined, and the node may be started again.
//
// A value; store_table keeps one per connection and carries it out.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/store/store_wire.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct Will {
  // `key` gets `if_closed` if the connection ended, and `if_silent` if it fell silent. It gets neither if it has a
  // value already, or if the key `unless` exists (empty: there is no such key).
  struct Word {
    std::string key, if_closed, if_silent, unless{};

    bool operator==(const Word&) const = default;
  };
  struct Claim {
    std::string key, holder;  // the whole will is void unless `key` has the value `holder`
    std::string begun;        // until this key exists, claim and `undo` are deleted and nobody is told; empty: it does
    std::vector<std::string> undo;

    bool operator==(const Claim&) const = default;
  };
  std::vector<Word> words;
  std::vector<std::string> gone;  // keys that get "gone" unless they have a value: nobody must wait for them
  std::optional<Claim> claim;

  bool empty() const { return words.empty() && gone.empty() && !claim; }
  bool operator==(const Will&) const = default;
};

// An empty will is an empty text, which takes a will back.
std::string to_json(const Will& will);
Result<Will> parse_will(std::string_view text);

// The requests that carry it out, in order; they refer to its texts. `claimed`: the value of its claim's key. `begun`:
// whether the key `begun` of its claim exists.
std::vector<Request> deeds_of(const Will& will, bool silent, std::string_view claimed, bool begun);

// Identifies the agent, by the claim of its will; empty without a claim. If two wills have the same claimant, the older
// one is void: the agent has lost the connection on which it left that one.
std::string claimant_of(const Will& will);

}  // namespace launch
