#include "launch/io/door.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

namespace launch {
namespace asio = boost::asio;
using asio::local::stream_protocol;
using boost::system::error_code;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_visitors = 32;
constexpr std::size_t longest_request = std::size_t{8} << 10;
constexpr std::size_t longest_answer = std::size_t{256} << 20;
constexpr Duration time_to_ask = 5s;
constexpr Duration time_to_read = 30s;
constexpr std::string_view ending = ".sock";

// Made if it is missing. Nobody else may own it or look into it.
bool is_private(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return false;
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0) return false;
  return S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & 077) == 0;
}

// Of a folder into which nobody else can put a door. Root may ask the jobs of others, in their folders.
std::optional<uid_t> owner_of(const std::string& folder) {
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || (info.st_mode & 077) != 0) return std::nullopt;
  if (info.st_uid != ::geteuid() && ::geteuid() != 0) return std::nullopt;
  return info.st_uid;
}

std::optional<ucred> other_side_of(int socket) {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return std::nullopt;
  return who;
}

std::optional<ucred> visitor_of(stream_protocol::socket& socket) {
  const auto who = other_side_of(socket.native_handle());
  if (!who || (who->uid != ::geteuid() && who->uid != 0)) return std::nullopt;
  return who;
}

// Cancels what the socket does when the time has come.
class Patience {
 public:
  Patience(stream_protocol::socket& socket, Duration time)
      : timer_(socket.get_executor(), to_steady(later(now(), time))) {
    timer_.async_wait([&socket, alive = std::weak_ptr(alive_)](const error_code& error) {
      error_code ignored;
      if (!error && !alive.expired()) socket.cancel(ignored);
    });
  }

 private:
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  asio::steady_timer timer_;
};

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) return Error{ErrorCode::system, "the path is too long for a socket"};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

Error system_error(const char* what) {
  return Error{ErrorCode::system, fmt::format("{}: {}", what, std::strerror(errno))};
}

Result<Fd> connect_to(const std::string& path, Duration patience) {
  const auto address = address_of(path);
  if (!address) return address.error();
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return system_error("cannot make a socket");
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience).count();
  const timeval limit{static_cast<time_t>(std::max<std::int64_t>(seconds, 1)), 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
    return system_error("cannot connect");
  return socket;
}

}  // namespace

// What visitors need; it lives as long as the last of them.
struct Door::Shared {
  Handler on_line;
  std::size_t visitors = 0;

  static asio::awaitable<void> serve(std::shared_ptr<Shared> shared, stream_protocol::socket socket) {
    ++shared->visitors;
    co_await shared->talk(socket);
    --shared->visitors;
  }

  asio::awaitable<void> talk(stream_protocol::socket& socket) const {
    const auto visitor = visitor_of(socket);
    if (!visitor || visitors > most_visitors) co_return;
    std::string line;
    std::optional<Patience> patience(std::in_place, socket, time_to_ask);
    auto reading = asio::async_read_until(socket, asio::dynamic_buffer(line, longest_request), '\n', as_values);
    const auto [unread, length] = co_await std::move(reading);
    if (unread) co_return;
    line.resize(length - 1);
    patience.reset();
    auto answering = on_line(std::move(line), visitor->pid);
    const std::string answer = co_await std::move(answering);
    patience.emplace(socket, time_to_read);
    auto writing = asio::async_write(socket, asio::buffer(answer), as_values);
    (void)co_await std::move(writing);
  }
};

// A socket that listens under its name, which goes with it if no door takes it over.
struct Door::Place {
  Place(Fd listening, std::string name) : socket(std::move(listening)), path(std::move(name)) {}
  Place(Place&& other) noexcept : socket(std::move(other.socket)), path(std::exchange(other.path, "")) {}
  Place& operator=(Place&&) = delete;
  ~Place() {
    if (!path.empty()) ::unlink(path.c_str());
  }

  Fd socket;
  std::string path;
};

Door::Door(asio::any_io_executor executor, Handler on_line)
    : executor_(executor),
      shared_(std::make_shared<Shared>(Shared{std::move(on_line)})),
      pause_(executor),
      disk_(executor),
      trying_(executor),
      removing_(executor) {}

Door::~Door() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

// Under its name it is found only when it listens: whoever finds one that does not takes its agent for dead.
Result<Door::Place> Door::find_place(const std::vector<std::string>& folders, const std::string& name) {
  Error last{ErrorCode::system, "there is no place for it"};
  for (const std::string& folder : folders) {
    std::string path = fmt::format("{}/{}{}", folder, name, ending);
    const std::string unfinished = path + ".new";
    const auto address = address_of(unfinished);
    if (!address || !is_private(folder)) continue;
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool opened =
        socket.valid() && ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0 &&
        ::listen(socket.get(), static_cast<int>(most_visitors)) == 0 && ::rename(unfinished.c_str(), path.c_str()) == 0;
    if (opened) return Place(std::move(socket), std::move(path));
    last = system_error(path.c_str());
  }
  return last;
}

asio::awaitable<std::optional<Status>> Door::open(std::vector<std::string> folders, std::string name, Time deadline) {
  run_in_background(executor_, open_some_time(std::move(folders), std::move(name)));
  trying_.expires_at(to_steady(deadline));
  return opened();
}

asio::awaitable<std::optional<Status>> Door::opened() {
  if (!tried_) (void)co_await trying_.async_wait(as_values);
  co_return tried_;
}

asio::awaitable<void> Door::open_some_time(std::vector<std::string> folders, std::string name) {
  const std::weak_ptr<bool> alive = alive_;
  const auto find = [folders = std::move(folders), name = std::move(name)] { return find_place(folders, name); };
  auto finding = disk_.run(find);
  Result<Place> place = co_await std::move(finding);
  if (alive.expired()) co_return;
  tried_ = place ? open_at(*std::move(place)) : Status(place.error());
  trying_.cancel();
}

Status Door::open_at(Place place) {
  auto acceptor = std::make_unique<Acceptor>(executor_);
  error_code error;
  acceptor->assign(stream_protocol(), place.socket.get(), error);
  if (error) return Error{ErrorCode::system, fmt::format("{}: {}", place.path, error.message())};
  (void)place.socket.release();
  acceptor_ = std::move(acceptor);
  path_ = std::exchange(place.path, "");
  accept();
  return {};
}

void Door::begin_to_close() {
  if (path_.empty()) return;
  closing_ = true;
  auto gone = [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    closing_ = false;
    removing_.cancel();
  };
  disk_.give([path = std::exchange(path_, ""), executor = executor_, gone = std::move(gone)]() mutable {
    ::unlink(path.c_str());
    asio::post(executor, std::move(gone));
  });
}

asio::awaitable<void> Door::closed(Time deadline) {
  removing_.expires_at(to_steady(deadline));
  if (closing_) (void)co_await removing_.async_wait(as_values);
}

void Door::accept() {
  auto accepted = [this, alive = std::weak_ptr(alive_)](const error_code& error, stream_protocol::socket socket) {
    if (alive.expired() || error == asio::error::operation_aborted) return;
    if (error) return accept_later();  // descriptors have run out: the job matters more than whoever asks
    run_in_background(executor_, Shared::serve(shared_, std::move(socket)));
    accept();
  };
  acceptor_->async_accept(executor_, std::move(accepted));
}

void Door::accept_later() {
  pause_.expires_after(std::chrono::seconds(1));
  pause_.async_wait([this, alive = std::weak_ptr(alive_)](const error_code& error) {
    if (!alive.expired() && !error) accept();
  });
}

std::vector<std::string> door_folders(const Environment& env) {
  if (const auto named = env.get("LAUNCH_DOORS"); named && named->starts_with('/')) return {*named};
  const uid_t user = ::geteuid();
  std::vector<std::string> folders;
  const auto add = [&folders](std::string folder) {
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(std::move(folder));
  };
  if (const auto runtime = env.get("XDG_RUNTIME_DIR"); runtime && runtime->starts_with('/')) add(*runtime + "/launch");
  add(fmt::format("/run/user/{}/launch", user));
  add(fmt::format("/tmp/launch-{}", user));
  return folders;
}

std::vector<std::string> find_doors(const std::vector<std::string>& folders) {
  std::vector<std::string> doors;
  for (const std::string& folder : folders) {
    const auto owner = owner_of(folder);
    if (!owner) continue;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      std::string path = entry.path().string();
      struct stat info {};
      if (!path.ends_with(ending) || ::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) continue;
      const auto socket = connect_to(path, 1s);
      const bool refused = !socket && errno == ECONNREFUSED;
      if (refused) ::unlink(path.c_str());
      const auto agent = socket ? other_side_of(socket->get()) : std::nullopt;
      const bool foreign = agent && agent->uid != *owner && agent->uid != 0;
      if (!refused && !foreign) doors.push_back(std::move(path));
    }
  }
  std::sort(doors.begin(), doors.end());
  return doors;
}

Result<std::string> ask_at_door(const std::string& path, const std::string& line, Duration patience,
                                const AwaitAnswer& await) {
  const auto socket = connect_to(path, patience);
  if (!socket) return socket.error();
  if (!write_all(socket->get(), line + '\n')) return system_error("cannot ask");
  std::string answer;
  std::array<char, 65536> piece{};
  while (answer.size() < longest_answer) {
    if (await && !await(socket->get())) return Error{ErrorCode::closed, "nobody waits for the answer any more"};
    const ssize_t got = ::recv(socket->get(), piece.data(), piece.size(), await ? MSG_DONTWAIT : 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return Error{ErrorCode::timeout, "the job has not answered in time"};
    if (got < 0) return system_error("no answer");
    if (got == 0) break;
    answer.append(piece.data(), static_cast<std::size_t>(got));
  }
  if (answer.empty()) return Error{ErrorCode::closed, "it has closed the connection"};
  return answer;
}

}  // namespace launch
