// The connections to other hosts that this host has made for the head of `launch --hosts`: programs with pipes, whose
// bytes come from the head and go to it. app/remote_run has one. Decides nothing, and looks at no byte. Handlers are
// never called from within a call, but later.
#pragma once

#include "launch/core/base/environment.hpp"
#include "launch/core/hosts/host_messages.hpp"
#include "launch/io/piped_program.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace launch {

struct PeerHandlers {
  std::function<void(int node, std::string bytes)> on_bytes;
  std::function<void(PeerEnd end)> on_end;
};

class PeerRelay {
 public:
  PeerRelay(const boost::asio::any_io_executor& executor, std::vector<int> reset_signals, PeerHandlers handlers);

  void connect(int node, std::vector<std::string> argv, const Environment& env);
  // No bytes: nothing more is sent there.
  void feed(int node, std::string bytes);
  // While held, nothing is read from any of them.
  void hold(bool held);
  // Nothing more is sent to any of them, nor heard of them but their end; those that do not end within 5 s are killed.
  void close();

 private:
  void end(int node, ExitStatus status, const std::string& errors);

  boost::asio::any_io_executor executor_;
  std::vector<int> reset_signals_;
  PeerHandlers handlers_;
  std::map<int, std::shared_ptr<PipedProgram>> peers_;
  std::set<int> heard_;  // those that have written anything
  boost::asio::steady_timer patience_;
  bool held_ = false;
  bool closed_ = false;
};

}  // namespace launch
