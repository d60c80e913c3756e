// A node of a c10d job whose agent is torchrun 2.13's, as far as others can see it: it polls the state, compares wall
// clocks, has one connection that it blocks while it waits for ranks, says once where its workers meet, and restarts
// its workers as soon as a node waits. It is a model: what it does on the wire is written after PyTorch's sources
// (docs/store_protocol.md), and tests/interop shows the real one. A node that waits for another one for nothing is
// killed, so it does not close the rendezvous for all.
#pragma once

#include "agent_host.hpp"
#include "torchrun_handler.hpp"

#include "launch/core/session/stage.hpp"
#include "launch/core/session/store_link.hpp"

#include <functional>
#include <optional>
#include <string>

namespace launch::play {

class TorchrunHost : public AgentHost {
 public:
  TorchrunHost(Network& network, ElasticSettings settings, Endpoint store, Planner planner, Eyes eyes);

  void set_max_restarts(int restarts) { restarts_left_ = restarts; }

  void start() override;
  void fail_workers(bool all) override;
  void end_workers() override;
  void signal(int number) override;

 private:
  using Step = TorchrunHandler::Step;
  using Change = std::function<Step(ElasticState& state)>;
  enum class End {
    well,
    failed,
    somebody_waits,
    store_lost,
  };

  void carry_out(SessionAction& action);
  void act();
  void workers_end(std::uint64_t group, bool well);

  Talk<void> live();
  Talk<bool> live_with(StoreLink& link);
  Talk<Step> run(StoreLink& link, Change change);
  Talk<Step> look(StoreLink& link, const Change& change);
  Talk<std::optional<Round>> next_rendezvous(StoreLink& link);
  Talk<bool> hear_where(StoreLink& link, const KeyList& keys);
  Talk<bool> say_where(StoreLink& link, const KeyList& keys);
  Talk<End> supervise(StoreLink& link);
  Talk<void> stop_workers();
  Talk<void> pass_barrier(StoreLink& link);

  TorchrunHandler handler_;
  Endpoint store_;
  int restarts_left_ = 0;
  Stage stage_;
  Bell workers_ended_;
  bool well_ = true;
  std::uint64_t group_ = 0;  // how often workers have been started
  ElasticState state_;
  std::string token_;                      // the state as it was read
  std::optional<Endpoint> workers_store_;  // as it was first heard of, or made
  Scope scope_;
};

}  // namespace launch::play
