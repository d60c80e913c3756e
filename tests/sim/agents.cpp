#include "agents.hpp"

#include "launch/core/rendezvous_pickle.hpp"

#include <algorithm>
#include <utility>

namespace launch::sim {
using namespace std::chrono_literals;

void Referee::fault(std::string what) {
  world_.note("FAULT " + what);
  faults_.push_back(std::move(what));
}

void Referee::formed(const NodeDesc& who, std::int64_t round, const std::vector<NodeDesc>& members, int rank) {
  // torchrun takes what it sees when it looks, a second too late for a round that a crash has broken up.
  if (!is_launch(who) && lenient_) return;
  world_.note(to_text(who) + " is rank " + std::to_string(rank) + " of " + std::to_string(members.size()) +
              " in round " + std::to_string(round));
  const auto [known, first] = rounds_.try_emplace(round, members);
  if (known->second != members) fault("round " + std::to_string(round) + " has two memberships");
  if (rank < 0 || rank >= static_cast<int>(members.size()) || members[static_cast<std::size_t>(rank)] != who)
    fault(to_text(who) + " has a wrong rank");
  if (std::set<NodeDesc>(members.begin(), members.end()).size() != members.size()) fault("a node has two ranks");
  const int count = static_cast<int>(members.size());
  if (count < limits_.min || count > limits_.max) fault("a round of " + std::to_string(count) + " nodes");
  const auto before = last_round_.find(who);
  if (before != last_round_.end() && before->second >= round) fault(to_text(who) + " is in an old round again");
  last_round_[who] = round;
}

namespace {

class OurAgent : public SimAgent {
 public:
  OurAgent(World& world, Referee& referee, ElasticSettings settings, Duration clock_offset)
      : SimAgent(world, referee, settings, clock_offset), machine_(settings, Random(world.random().next())) {}

  void start() override {
    machine_.join(world_.now());
    take(machine_.start(instant()));
  }

  void fail_worker() override {
    if (!alive_ || !round_) return;
    join("its worker fails");
  }

  void close() override {
    if (!alive_) return;
    machine_.close(world_.now());
    client_.wake();
  }

 private:
  Instant instant() const { return {world_.now(), wall()}; }

  void join(const std::string& why) {
    world_.note(to_text(self()) + " joins: " + why);
    round_.reset();
    machine_.join(world_.now());
    client_.wake();
  }

  void on(const Outcome& outcome) override {
    auto step = machine_.on(outcome, instant());
    if (step) return take(*std::move(step));
    referee_.fault(step.error().message);
  }

  void take(ElasticStep step) {
    bool again = false;
    for (const ElasticNews& news : step.news) {
      if (const auto* formed = std::get_if<RoundFormed>(&news)) {
        round_ = formed->round;
        referee_.formed(self(), formed->round, formed->members, formed->rank);
      } else if (std::holds_alternative<RoundBroken>(news)) {
        again = true;
      } else if (std::holds_alternative<RoundRefused>(news)) {
        refused_ = true;
        round_.reset();
        world_.note(to_text(self()) + " is refused");
      } else if (std::holds_alternative<RendezvousClosed>(news)) {
        saw_closed_ = true;
      }
    }
    client_.perform(step.next, machine_.deadline());
    // Workers need a moment to end.
    if (again)
      world_.at(world_.now() + world_.random().between(1ms, 300ms), [this, round = round_] {
        if (alive_ && round_ && round_ == round) join("the round breaks up");
      });
  }

  ElasticRendezvous machine_;
};

// After dynamic_rendezvous.py of PyTorch 2.13: exit op, join op, keep-alive thread, num_nodes_waiting.
class TorchrunAgent : public SimAgent {
 public:
  TorchrunAgent(World& world, Referee& referee, ElasticSettings settings, Duration clock_offset)
      : SimAgent(world, referee, std::move(settings), clock_offset) {}

  void start() override {
    deadline_ = world_.now() + settings_.join_timeout;
    client_.perform(CompareSet{state_key(settings_.run_id), "", std::string(no_state)}, never);
  }
  void fail_worker() override {
    // Its workers start once every node has seen the round.
    if (!alive_ || !round_ || world_.now() < formed_at_ + 2s) return;
    world_.note(to_text(self()) + " restarts");
    again();
  }
  void close() override { closing_ = true; }

 private:
  void again() {
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
      world_.at(world_.now() + pause, [this] {
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
        world_.note(to_text(self()) + " sees somebody waiting");
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
    for (const auto& [node, rank] : state_.participants)
      if (static_cast<std::size_t>(rank) < members.size()) members[static_cast<std::size_t>(rank)] = node;
    referee_.formed(self(), state_.round, members, state_.participants.at(self()));
    return false;
  }

  ElasticState state_;
  std::string token_;
  Time deadline_{};
  Time formed_at_{};
  bool leaving_ = false;
  bool closing_ = false;
};

}  // namespace

std::unique_ptr<SimAgent> make_ours(World& world, Referee& referee, ElasticSettings settings, Duration clock_offset) {
  settings.self.local_id = launch_local_id;
  return std::make_unique<OurAgent>(world, referee, std::move(settings), clock_offset);
}

std::unique_ptr<SimAgent> make_torchrun(World& world, Referee& referee, ElasticSettings settings,
                                        Duration clock_offset) {
  return std::make_unique<TorchrunAgent>(world, referee, std::move(settings), clock_offset);
}

}  // namespace launch::sim
