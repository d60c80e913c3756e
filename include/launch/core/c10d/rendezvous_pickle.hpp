// Converts ElasticState to and from the bytes that torchrun's agents (PyTorch 2.5 and later) keep in the store: a
// Python pickle as base64 text. Pickles of protocol 4 and 5 are read.
//
// The reader is a stack machine of 29 opcodes that knows five names and can make nothing except an ElasticState: no
// code that the writer chose runs. Memory grows with the input; every number is checked before it is used.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/c10d/elastic_state.hpp"
#include "launch/core/store/keys.hpp"

#include <string>
#include <string_view>

namespace launch {

// More nodes than this in a state are an error.
inline constexpr std::size_t max_state_nodes = 100'000;

std::string pickle_state(const ElasticState& state);
Result<ElasticState> unpickle_state(std::string_view bytes);

// The text under the key. The text `no_state` (keys.hpp) is read as a new ElasticState.
std::string write_state(const ElasticState& state);
Result<ElasticState> read_state(std::string_view text);

}  // namespace launch
