// The connections of `launch --hosts`: to each host a program with pipes (ssh, srun, the user's own, or a launch of
// this machine), which runs here or on a host that is there already, from which a greeting and then messages come, and
// how it ended. app/head_run makes and ends them as
// core/hosts/head wants it. Decides nothing. Nothing is called from within a call, but later.
#pragma once

#include "launch/core/config/hosts_settings.hpp"
#include "launch/core/hosts/connection_words.hpp"
#include "launch/core/hosts/host_frames.hpp"
#include "launch/core/hosts/host_table.hpp"
#include "launch/io/piped_program.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct LinkHandlers {
  std::function<void(int node, const Greeting& greeting)> on_greeting;
  // What has come instead of one so far, in one line.
  std::function<void(int node, std::string noise)> on_noise;
  std::function<void(int node, HostMessage message)> on_message;
  // Something has come, perhaps not all of a message.
  std::function<void(int node)> on_life;
  // It has taken something of what was to be sent there before its greeting.
  std::function<void(int node)> on_taken;
  // What came is not from a launch; nothing more is read.
  std::function<void(int node, const std::string& what)> on_nonsense;
  std::function<void(int node, const LostConnection& lost)> on_lost;
};

// How the programs are started.
struct LinkStart {
  Environment env;
  std::vector<int> reset_signals;  // to be set to their default
  rlimit open_files{};             // to be restored
};

class HostLinks {
 public:
  // The plan must live as long, and this object as long as anything runs on the executor.
  HostLinks(const boost::asio::any_io_executor& executor, const HostsPlan& plan, LinkStart start,
            LinkHandlers handlers);

  void connect(const ConnectHost& action);
  void tell(int node, const HostMessage& message);
  // Nothing more is said there.
  void leave(int node);
  // The same, and end() does not wait for it.
  void give_up(int node);
  // While held, nothing is read from any of them.
  void hold(bool held);

  void leave_all();
  // But for those that have greeted: the input of a launch has ended, so it ends its node, and then itself.
  void kill_all();
  // Waits so long until they have ended, and kills those that have not, but for a launch that may be one of this
  // machine.
  boost::asio::awaitable<void> end(Duration patience);

 private:
  struct Link {
    std::shared_ptr<PipedProgram> program;  // or through another host:
    int starter = started_by_head;
    bool open = false;
    FrameReader reader{true};
    bool greeted = false;
    bool broken = false;
    bool given_up = false;
  };

  Link& at(int node) { return links_[static_cast<std::size_t>(node)]; }
  bool start_program(const ConnectHost& action, std::vector<std::string> argv);
  void send(int node, std::string bytes);
  const std::string& host(int node) const { return plan_.head.nodes[static_cast<std::size_t>(node)].host; }
  void lose(int node, ExitStatus status, const std::string& errors);
  void lose(int node, LostConnection lost);
  void lose_peers(int starter);
  void take(int node, std::string_view bytes);
  bool take_for_peer(int node, const HostMessage& message);
  bool take_greeting(int node);
  void break_off(int node, const std::string& what);

  boost::asio::any_io_executor executor_;
  const HostsPlan& plan_;
  LinkStart start_;
  LinkHandlers handlers_;
  std::vector<Link> links_;
  boost::asio::steady_timer ended_;
  int awaited_ = 0;  // programs that end() waits for
  bool held_ = false;
};

}  // namespace launch
