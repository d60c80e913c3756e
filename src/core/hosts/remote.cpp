#include "launch/core/hosts/remote.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration before_the_job = 1min;

}  // namespace

RemoteActions Remote::start(Time now) {
  lost_at_ = later(now, silence());
  beat_ = later(now, between_host_beats(longest_host_silence));
  return {};
}

// A check may have to wait for a file system.
Duration Remote::silence() const {
  switch (state_) {
    case State::waiting:
      return before_the_job;
    case State::checking:
    case State::ready:
    case State::unfit:
      return std::max(silence_, longest_host_silence);
    case State::running:
    case State::told:
    case State::over:
      break;
  }
  return silence_;
}

void Remote::on_life(Time now) {
  if (lost_at_ != never) lost_at_ = later(now, silence());
}

// With what is left of the connections to peers.
void Remote::leave(RemoteActions& actions) {
  state_ = State::over;
  leaving_ = true;
  actions.emplace_back(LeaveRemote{});
}

RemoteActions Remote::on_lost() {
  lost_at_ = never;
  if (std::exchange(headless_, true)) return {};
  RemoteActions actions{ForgetHead{}};
  if (state_ == State::running) {
    actions.push_back(SignalNode{SIGTERM, true});
  } else if (!leaving_ && peers_.empty()) {
    leave(actions);
  } else {
    state_ = State::over;  // what was said to its peers goes on to them
  }
  return actions;
}

// Nothing, if it is not about a peer.
std::optional<RemoteActions> Remote::on_peer_message(HostMessage& message) {
  if (auto* peer = std::get_if<StartPeer>(&message)) {
    if (peer->argv.empty() || !peers_.insert(peer->node).second) return on_lost();
    return RemoteActions{ConnectPeer{peer->node, std::move(peer->argv)}};
  }
  auto* bytes = std::get_if<PeerBytes>(&message);
  if (bytes == nullptr) return std::nullopt;
  // It may have ended meanwhile.
  if (peers_.count(bytes->node) == 0) return RemoteActions{};
  return RemoteActions{FeedPeer{bytes->node, std::move(bytes->bytes)}};
}

RemoteActions Remote::on_message(HostMessage message, Time now) {
  if (headless_) return {};
  on_life(now);
  if (leaving_) return {};
  if (auto actions = on_peer_message(message)) return *std::move(actions);
  if (state_ == State::over) return {};
  if (state_ == State::told) return on_message_after_end(message);
  if (auto* job = std::get_if<NodeJob>(&message); job != nullptr && state_ == State::waiting) {
    state_ = State::checking;
    keeps_output_ = job->keeps_output;
    silence_ = std::chrono::milliseconds(job->silence_ms);
    on_life(now);
    beat_ = later(now, between_host_beats(silence_));
    return {CheckNode{std::move(*job)}};
  }
  if (auto* question = std::get_if<ReachQuestion>(&message); question != nullptr && state_ == State::ready)
    return {TryToReach{std::move(*question)}};
  if (auto* go = std::get_if<NodeGo>(&message); go != nullptr && state_ == State::ready) {
    state_ = State::running;
    on_life(now);
    return {RunNode{std::move(go->args), std::move(go->meeting), go->input}};
  }
  if (const auto* signal = std::get_if<NodeSignal>(&message); signal != nullptr && state_ == State::running)
    return {SignalNode{signal->number}};
  if (auto* input = std::get_if<NodeInput>(&message); input != nullptr && state_ == State::running)
    return {FeedNode{std::move(input->bytes)}};
  return std::holds_alternative<HostBeat>(message) ? RemoteActions{} : on_lost();
}

// What else was said was meant for a node that still ran.
RemoteActions Remote::on_message_after_end(const HostMessage& message) {
  if (!std::holds_alternative<NodeShown>(message)) return {};
  state_ = State::over;
  RemoteActions actions{RemoveOutput{}};
  if (peers_.empty()) leave(actions);
  return actions;
}

RemoteActions Remote::on_checked(HostMessage answer) {
  if (state_ != State::checking) return {};
  state_ = std::holds_alternative<NodeReady>(answer) ? State::ready : State::unfit;
  return {TellHead{std::move(answer)}};
}

RemoteActions Remote::on_reach(ReachAnswer answer) {
  if (state_ != State::ready) return {};
  return {TellHead{std::move(answer)}};
}

RemoteActions Remote::on_signal(int number) {
  if (leaving_) return {};
  if (state_ == State::running) return {SignalNode{number}};
  RemoteActions actions;
  leave(actions);
  return actions;
}

RemoteActions Remote::on_output(NodeOutput output) {
  if (headless_ || state_ != State::running) return {};
  return {TellHead{std::move(output)}};
}

RemoteActions Remote::on_taken(std::size_t bytes) {
  if (headless_ || state_ != State::running) return {};
  return {TellHead{NodeTook{static_cast<std::int64_t>(bytes)}}};
}

RemoteActions Remote::on_files(NodeEnd end) {
  if (headless_ || state_ != State::running) return {};
  end.files_follow = true;
  return {TellHead{std::move(end)}};
}

RemoteActions Remote::on_file(NodeFile file) {
  if (headless_ || state_ != State::running) return {};
  return {TellHead{std::move(file)}};
}

RemoteActions Remote::on_end(NodeEnd end) {
  if (state_ != State::running) return {};
  state_ = keeps_output_ && !headless_ ? State::told : State::over;
  RemoteActions actions;
  if (!headless_) actions.push_back(TellHead{std::move(end)});
  if (state_ == State::over && peers_.empty()) leave(actions);
  return actions;
}

RemoteActions Remote::on_peer_bytes(int node, std::string bytes) {
  if (headless_ || leaving_) return {};
  return {TellHead{PeerBytes{node, std::move(bytes)}}};
}

RemoteActions Remote::on_peer_end(PeerEnd end) {
  peers_.erase(end.node);
  if (leaving_) return {};
  RemoteActions actions;
  if (!headless_) actions.push_back(TellHead{std::move(end)});
  if (state_ == State::over && peers_.empty()) leave(actions);
  return actions;
}

RemoteActions Remote::on_deadline(Time now) {
  if (now >= lost_at_) lost_at_ = end_of_silence(lost_at_, now, has_slept(deadline(), now, silence()));
  if (now >= lost_at_) return on_lost();
  if (now < beat_) return {};
  beat_ = later(now, between_host_beats(silence_));
  if (headless_ || leaving_) return {};
  return {TellHead{HostBeat{}}};
}

// What is told last may be held up for ever.
Time Remote::deadline() const {
  if (headless_) return never;
  return leaving_ ? lost_at_ : std::min(lost_at_, beat_);
}

}  // namespace launch
