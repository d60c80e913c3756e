// Sessions of some nodes on one network, without agents. What each session tells its agent is kept, for tests that look
// at one step after the other.
#pragma once

#include "configs.hpp"
#include "session_host.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace launch::play {

class Meeting {
 public:
  struct Node {
    Config config;
    std::deque<AgentEvent> told;
    int others_told = 0;
    std::optional<Account> account;
    bool ended = false;
    std::vector<Asked> asked;
    std::vector<JobAnswered> answered;
    std::unique_ptr<SessionHost> session;
  };

  explicit Meeting(std::uint64_t seed = 1) : events_(seed), network_(events_) {}

  Events& events() { return events_; }
  Network& network() { return network_; }

  // Adds a node, whose session is not open yet.
  Node& add(Config config) {
    auto node = std::make_unique<Node>();
    node->config = std::move(config);
    Node* const at = node.get();
    SessionEars ears;
    ears.tell = [at](AgentEvent event, bool first) {
      at->told.insert(first ? at->told.begin() : at->told.end(), std::move(event));
    };
    ears.others_told = [at] { ++at->others_told; };
    ears.account_shared = [at](Account all) { at->account = std::move(all); };
    ears.ended = [at] { at->ended = true; };
    ears.asked = [at](Asked asked) { at->asked.push_back(std::move(asked)); };
    ears.job_answered = [at](JobAnswered answered) { at->answered.push_back(std::move(answered)); };
    node->session = std::make_unique<SessionHost>(network_, at->config.hostname, at->config, std::move(ears));
    nodes_.push_back(std::move(node));
    return *at;
  }

  // The first event of this kind that the node was told and that was not taken yet; nullopt: there is none within
  // `limit`.
  template <class Event>
  std::optional<Event> take(Node& node, Duration limit = std::chrono::seconds(1)) {
    const auto is_one = [](const AgentEvent& event) { return std::holds_alternative<Event>(event); };
    events_.run_until([&] { return std::any_of(node.told.begin(), node.told.end(), is_one); }, limit);
    const auto found = std::find_if(node.told.begin(), node.told.end(), is_one);
    if (found == node.told.end()) return std::nullopt;
    Event event = std::get<Event>(std::move(*found));
    node.told.erase(found);
    return event;
  }

 private:
  Events events_;
  Network network_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace launch::play
