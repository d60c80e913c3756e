#include "agents.hpp"

#include "launch/core/c10d/rendezvous_pickle.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>

namespace launch::sim {
namespace {

using namespace std::chrono_literals;

// After dynamic_rendezvous.py of PyTorch 2.13: exit op, join op, keep-alive thread, num_nodes_waiting.
class TorchrunAgent : public SimAgent {
 public:
  TorchrunAgent(World& world, Referee& referee, AgentSpec spec)
      : SimAgent(world, referee, std::move(spec)), settings_(spec_.settings) {}

  void start() override {
    client_.connect();
    deadline_ = world_.now() + settings_.join_timeout;
    client_.perform(CompareSet{state_key(settings_.run_id), "", std::string(no_state)}, never);
  }
  void fail_worker() override {
    // Its workers start once every node has seen the round.
    if (!alive_ || !round_ || world_.now() < formed_at_ + 2s) return;
    world_.note(name() + " restarts");
    again();
  }
  void leave() override {}  // it knows no such thing: it ends, or is killed
  void close() override { closing_ = true; }

 private:
  WallTime wall() const { return instant().wall; }

  void again() {
    rest();
    round_.reset();
    leaving_ = true;
    deadline_ = world_.now() + settings_.join_timeout;
  }

  void on(const Outcome& outcome) override {
    const std::string text = std::get<Values>(outcome).values.at(0);
    auto state = read_state(text);
    if (!state) return referee_.fault("torchrun cannot read the state: " + state.error().message);
    token_ = text;
    state_ = *std::move(state);
    sanitize();
    if (act()) {
      client_.perform(CompareSet{state_key(settings_.run_id), token_, write_state(state_)}, never);
    } else {
      const Duration pause = round_ ? 1s : refused_ ? 3600s : 1s;
      client_.when_awake(world_.now() + pause, [this] {
        if (alive_) client_.perform(GetKeys{{state_key(settings_.run_id)}}, never);
      });
    }
  }

  void forget(const NodeDesc& node) { remove_node(state_, node, settings_.nodes); }

  void sanitize() {
    const WallTime expired = wall() - std::chrono::duration_cast<WallClock::duration>(settings_.keep_alive_interval *
                                                                                      settings_.keep_alive_max_attempt);
    std::vector<NodeDesc> dead;
    for (const auto& [node, heartbeat] : state_.last_heartbeats)
      if (heartbeat < expired) dead.push_back(node);
    for (const NodeDesc& node : dead) forget(node);
  }

  bool keep_alive() {
    const auto own = state_.last_heartbeats.find(self());
    if (own == state_.last_heartbeats.end()) return false;
    if (own->second > wall() - std::chrono::duration_cast<WallClock::duration>(settings_.keep_alive_interval))
      return false;
    own->second = wall();
    return true;
  }

  // True when the state was changed.
  bool act() {
    if (refused_) return false;
    if (closing_) {
      if (state_.closed) {
        saw_closed_ = true;
        return false;
      }
      return state_.closed = true;
    }
    if (round_) {
      if (!state_.wait_list.empty()) {
        world_.note(name() + " sees somebody waiting");
        again();
        return act();
      }
      return keep_alive();
    }
    if (leaving_) {
      if (state_.participants.contains(self())) {
        forget(self());
        return true;
      }
      leaving_ = false;
    }
    return join();
  }

  bool join() {
    const bool participant = state_.participants.contains(self());
    const int count = static_cast<int>(state_.participants.size());
    if (state_.closed) {
      refused_ = saw_closed_ = true;
      return false;
    }
    if (state_.redundancy_list.contains(self())) {
      if (count == settings_.nodes.max) return keep_alive();
      forget(self());
      deadline_ = world_.now() + settings_.join_timeout;
      return true;
    }
    if (state_.complete && participant) return finish();
    if (world_.now() > deadline_) {
      if (participant || state_.wait_list.contains(self())) {
        forget(self());
        return true;
      }
      refused_ = true;
      return false;
    }
    if (state_.complete) {
      auto& list = count < settings_.nodes.max ? state_.wait_list : state_.redundancy_list;
      if (state_.wait_list.contains(self()) || !list.insert(self()).second) return keep_alive();
      state_.last_heartbeats[self()] = wall();
      return true;
    }
    if (participant) {
      if (count >= settings_.nodes.min && count <= settings_.nodes.max && state_.deadline &&
          *state_.deadline < wall()) {
        complete_round(state_, sorted());
        return true;
      }
      return keep_alive();
    }
    state_.wait_list.erase(self());
    state_.participants[self()] = 0;
    state_.last_heartbeats[self()] = wall();
    if (count + 1 == settings_.nodes.min)
      state_.deadline = wall() + std::chrono::duration_cast<WallClock::duration>(settings_.last_call_timeout);
    if (count + 1 == settings_.nodes.max) complete_round(state_, sorted());
    return true;
  }

  std::vector<NodeDesc> sorted() const {
    std::vector<NodeDesc> order;
    for (const auto& [node, rank] : state_.participants) order.push_back(node);
    return order;
  }

  bool finish() {
    round_ = state_.round;
    formed_at_ = world_.now();
    std::vector<NodeDesc> members(state_.participants.size());
    RoundFormed formed{state_.round, state_.participants.at(self()), static_cast<int>(members.size()), {}, {}, {}};
    for (const auto& [node, rank] : state_.participants) {
      if (static_cast<std::size_t>(rank) < members.size()) members[static_cast<std::size_t>(rank)] = node;
      if (!is_launch(node)) formed.torchrun.push_back(rank);
    }
    std::sort(formed.torchrun.begin(), formed.torchrun.end());
    formed.leader = members.front();
    // It takes what it sees when it looks, a second too late for a round that a crash has broken up.
    if (!referee_.judges(self())) return false;
    referee_.formed(self(), settings_.member, formed);
    referee_.listed(state_.round, members);
    run(state_.round);
    return false;
  }

  const ElasticSettings& settings_;
  ElasticState state_;
  std::string token_;
  Time deadline_{};
  Time formed_at_{};
  bool leaving_ = false;
  bool closing_ = false;
};

}  // namespace

std::unique_ptr<SimAgent> make_torchrun(World& world, Referee& referee, AgentSpec spec) {
  return std::make_unique<TorchrunAgent>(world, referee, std::move(spec));
}

}  // namespace launch::sim
