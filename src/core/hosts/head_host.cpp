#include "launch/core/hosts/head_host.hpp"

#include "launch/core/job/job.hpp"

#include <fmt/format.h>

namespace launch {

using namespace std::chrono_literals;

bool is_listening(const HeadHost& host) {
  switch (host.state) {
    case HeadHost::State::asked:
    case HeadHost::State::ready:
    case HeadHost::State::reaching:
    case HeadHost::State::running:
      return true;
    case HeadHost::State::ended:
    case HeadHost::State::lost:
      return host.connected && !host.left && host.peers > 0;
    case HeadHost::State::waiting:
    case HeadHost::State::connecting:
      break;
  }
  return false;
}

Duration limit_of(const HeadHost& host) {
  switch (host.state) {
    case HeadHost::State::waiting:
      return host.connected ? 10s : 0s;  // to leave, for a launch of another version
    case HeadHost::State::connecting:
      return host.copies ? 60s : 30s;  // ssh gives up after 10 s, but a login may be slow
    case HeadHost::State::asked:
      return 60s;  // the folder may be on a file system that is being mounted
    case HeadHost::State::reaching:
      return 15s;
    case HeadHost::State::ready:
    case HeadHost::State::running:
    case HeadHost::State::ended:
    case HeadHost::State::lost:
      break;
  }
  return 0s;
}

std::string why_lost(const NodeEnd& end, int requeue_exit) {
  if (end.signal != 0)
    return fmt::format("launch there was killed by {}, so its node is lost", signal_name(end.signal));
  if (end.exit_code <= 128 || end.exit_code == requeue_exit || !end.report.empty() || !end.json.empty()) return "";
  return fmt::format("launch there has ended with exit code {} and no report, so its node is lost", end.exit_code);
}

bool is_safe(const HeadHost& host, int requeue_exit) {
  return host.has_ended && why_lost(host.end, requeue_exit).empty();
}

bool has_not_joined(const NodeEnd& end, int requeue_exit) {
  return end.signal == 0 && end.exit_code == 2 && end.exit_code != requeue_exit && end.report.empty() &&
         end.json.empty();
}

std::string why_early(const NodeEnd& end) {
  return fmt::format("launch there has ended with exit code {} before its node had joined", end.exit_code);
}

std::string why_late(const HeadHost& host) {
  const std::string limit = to_text(limit_of(host));
  switch (host.state) {
    case HeadHost::State::waiting:
      if (!host.connected) return "";
      return fmt::format("launch there is of another version, and does not end within {}", limit);
    case HeadHost::State::connecting:
      if (host.noise.empty()) return fmt::format("launch did not answer within {} of the login", limit);
      return fmt::format("the login said \"{}\" and launch did not start within {}; look at its shell's rc files",
                         host.noise, limit);
    case HeadHost::State::asked:
      return fmt::format("did not say within {} whether it can start", limit);
    case HeadHost::State::reaching:
      return fmt::format("did not say within {} whether it reaches node 0", limit);
    case HeadHost::State::ready:
    case HeadHost::State::running:
    case HeadHost::State::ended:
    case HeadHost::State::lost:
      break;
  }
  return "";
}

std::string why_silent(Duration silence) {
  return fmt::format("no sign of life for {}: its node is given up", to_text(silence));
}

}  // namespace launch
