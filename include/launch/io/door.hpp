// The door of a running job: a Unix socket in a folder that only its user can look into, at which launch-ctl asks this
// node's agent. One line comes, and lines go back, until the connection ends. Only processes of the same user, or of
// root, get in: the kernel says who they are.
//
// It decides nothing: what a line means, and what goes back, is the owner's. It never listens on a network. Who comes
// while there are too many visitors, or says nothing for some seconds, is turned away. A file system that stalls costs
// the door, and nobody's time beyond the deadline that the owner gives.
#pragma once

#include "launch/core/base/environment.hpp"
#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/io/disk_thread.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace launch {

class Door {
 public:
  // Gets the line and the visitor's pid, and gives what goes back.
  using Handler = std::function<boost::asio::awaitable<std::string>(std::string line, pid_t visitor)>;

  Door(boost::asio::any_io_executor executor, Handler on_line);
  // The visitors that are there are served to their end. Removes the socket, unless begin_to_close() has begun to.
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // Begins to make the socket in the first of these folders that can be had. Nothing may have that name yet. What it
  // gives is opened().
  boost::asio::awaitable<std::optional<Status>> open(std::vector<std::string> folders, std::string name, Time deadline);
  // What has become of that. The error is for people. nullopt: the file system has not answered by the deadline, and
  // the door opens when it does; or open() was never called.
  boost::asio::awaitable<std::optional<Status>> opened();
  // Removes the socket meanwhile. Who has come is served.
  void begin_to_close();
  // Waits until the socket that begin_to_close() removes is gone, until `deadline` at most.
  boost::asio::awaitable<void> closed(Time deadline);
  // Empty while it is not open.
  const std::string& path() const { return path_; }

 private:
  struct Shared;
  struct Place;
  using Acceptor = boost::asio::local::stream_protocol::acceptor;

  static Result<Place> find_place(const std::vector<std::string>& folders, const std::string& name);
  boost::asio::awaitable<void> open_some_time(std::vector<std::string> folders, std::string name);
  Status open_at(Place place);
  void accept();
  void accept_later();

  boost::asio::any_io_executor executor_;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for handlers that run after the end of this object
  std::unique_ptr<Acceptor> acceptor_;
  boost::asio::steady_timer pause_;  // before it accepts again
  std::string path_;
  DiskThread disk_;
  std::optional<Status> tried_;         // what has become of open()
  boost::asio::steady_timer trying_;    // cancelled when that is known
  bool closing_ = false;                // the socket is being removed
  boost::asio::steady_timer removing_;  // cancelled when it is gone
};

// Where doors of this user may be, the best place first: the folder LAUNCH_DOORS and no other; without it, below
// XDG_RUNTIME_DIR, the runtime folder that systemd makes, and /tmp.
std::vector<std::string> door_folders(const Environment& env);
// The doors that are there, in folders that only their owner can look into, of agents of this owner or of root. Those
// of agents that have ended are removed.
std::vector<std::string> find_doors(const std::vector<std::string>& folders);
// Waits until a descriptor can be read, or for other things; false: whoever asked does not want the answer any more.
using AwaitAnswer = std::function<bool(int fd)>;
// Everything that comes back for one line. Waits for each piece at most so long. For programs without a loop. `await`,
// if there is one, waits instead, and is called before each piece: if it says false, that is an error of code closed;
// if it says true and there is nothing to read, one of code timeout.
Result<std::string> ask_at_door(const std::string& path, const std::string& line, Duration patience,
                                const AwaitAnswer& await = {});

}  // namespace launch
