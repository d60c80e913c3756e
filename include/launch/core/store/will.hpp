// What the store's host does when it loses an agent: when the connection ends that has left the will, or falls silent.
// The others are told. But as long as the ranks of a static job have not been given out, the agent's claim of its rank
// is removed instead: then the job waits for this node as if it had never come, and it may be started again.
//
// A value; store_table keeps one a connection and carries it out.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/store/store_wire.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct Will {
  // The key gets the first text if the connection ended, the second if it fell silent; neither if it has a value, or if
  // the key `unless` is there (empty: none).
  struct Word {
    std::string key, if_closed, if_silent, unless{};

    bool operator==(const Word&) const = default;
  };
  struct Claim {
    std::string key, holder;  // without this value under this key the whole will is void
    std::string begun;  // until this key is there, the claim and `undo` are deleted, and nobody is told; empty: it is
    std::vector<std::string> undo;

    bool operator==(const Claim&) const = default;
  };
  std::vector<Word> words;
  std::vector<std::string> gone;  // keys that get "gone" unless they have a value: nobody is to wait for them
  std::optional<Claim> claim;

  bool empty() const { return words.empty() && gone.empty() && !claim; }
  bool operator==(const Will&) const = default;
};

// An empty will is an empty text, which takes a will back.
std::string to_json(const Will& will);
Result<Will> parse_will(std::string_view text);

// The requests that carry it out, in order; they refer to its texts. `claimed`: what its claim's key holds. `begun`:
// whether its claim's other key is there.
std::vector<Request> deeds_of(const Will& will, bool silent, std::string_view claimed, bool begun);

// Whose it is, by its claim; empty without one. Of two with the same the older is void: the agent has lost the
// connection on which it left that.
std::string claimant_of(const Will& will);

}  // namespace launch
