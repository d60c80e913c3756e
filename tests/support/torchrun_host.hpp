// A node of a c10d job whose agent is torchrun 2.13's, as far as others can see it: it polls the state, compares wall
// clocks, has one connection that it blocks while it waits for ranks, says where its workers meet once, and starts its
// workers again as soon as somebody waits. A model: what it does on the wire is written after PyTorch's sources
// (docs/store_protocol.md), and tests/interop shows the real one. One that waits in vain for another node is killed
// instead of closing the rendezvous of all.
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
  std::uint64_t group_ = 0;  // number of their start
  ElasticState state_;
  std::string token_;                      // the state as it was read
  std::optional<Endpoint> workers_store_;  // as it was heard of, or made, first
  Scope scope_;
};

}  // namespace launch::play
