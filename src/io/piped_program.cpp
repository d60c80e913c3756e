#include "launch/io/piped_program.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/files.hpp"
#include "launch/io/guard.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_errors = 4096;
constexpr std::size_t largest_piece = std::size_t{64} << 10;
constexpr Duration time_for_rest = 500ms;

struct Pipes {
  Fd in, out, err;              // ours
  Fd its_in, its_out, its_err;  // the program's
};

bool make_pipe(Fd& reader, Fd& writer) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  reader = Fd(ends[0]);
  writer = Fd(ends[1]);
  return true;
}

Result<Pipes> make_pipes() {
  Pipes pipes;
  if (make_pipe(pipes.its_in, pipes.in) && make_pipe(pipes.out, pipes.its_out) && make_pipe(pipes.err, pipes.its_err))
    return pipes;
  return Error{ErrorCode::system, fmt::format("cannot make a pipe: {}", std::strerror(errno))};
}

bool is_text(const std::string& file) {
  const std::string begin = read_file(file, 256);
  return !begin.empty() && begin.find('\0') == std::string::npos;
}

// A script whose first line names no program is one for the shell, as for execvp(3) and every shell.
bool is_script_without_name(const SpawnError& error, const std::string& file) {
  return error.stage == SpawnStage::execute && error.error == ENOEXEC && is_text(file);
}

auto spawn_or_let_shell(SpawnRequest& request) {
  auto spawned = spawn(request);
  if (spawned || !is_script_without_name(spawned.error(), request.executable)) return spawned;
  request.argv.front() = request.executable;
  request.executable = "/bin/sh";
  request.argv.insert(request.argv.begin(), "sh");
  return spawn(request);
}

}  // namespace

PipedProgram::PipedProgram(const asio::any_io_executor& executor, Spawned spawned, ProgramHandlers handlers)
    : executor_(executor),
      handlers_(std::move(handlers)),
      child_(executor, std::move(spawned)),
      in_(executor),
      out_(executor),
      err_(executor),
      gate_(executor) {}

Result<std::shared_ptr<PipedProgram>> PipedProgram::start(const asio::any_io_executor& executor,
                                                          const ProgramLine& line, ProgramHandlers handlers) {
  auto pipes = make_pipes();
  if (!pipes) return pipes.error();
  SpawnRequest request;
  request.executable = line.executable;
  request.argv = line.argv;
  request.env = line.env;
  request.reset_signals = line.reset_signals;
  request.open_files = line.open_files;
  request.in = pipes->its_in.get();
  request.out = pipes->its_out.get();
  request.err = pipes->its_err.get();
  auto spawned = spawn_or_let_shell(request);
  if (!spawned) return Error{ErrorCode::system, explain(spawned.error(), request)};
  auto made = std::make_shared<PipedProgram>(executor, *std::move(spawned), std::move(handlers));
  made->begin(std::move(pipes->in), std::move(pipes->out), std::move(pipes->err));
  return made;
}

void PipedProgram::begin(Fd in, Fd out, Fd err) {
  in_.assign(in.release());
  out_.assign(out.release());
  err_.assign(err.release());
  // Asio may wake us for an event of an older descriptor, and then nothing is there.
  out_.non_blocking(true);
  err_.non_blocking(true);
  gate_.expires_at(to_steady(never));
  child_.on_exit([self = shared_from_this()](ExitStatus status) {
    self->status_ = status;
    self->end_reading();
  });
  run_in_background(executor_, read(shared_from_this(), out_, false));
  run_in_background(executor_, read(shared_from_this(), err_, true));
}

// Of what is still in the pipes: another process may hold them for ever, as a master connection of ssh does.
void PipedProgram::end_reading() {
  gate_.expires_at(to_steady(later(now(), time_for_rest)));
  gate_.async_wait([self = shared_from_this()](const boost::system::error_code&) {
    self->cut_off_ = true;
    boost::system::error_code ignored;
    self->out_.cancel(ignored);
    self->err_.cancel(ignored);
  });
  look_for_end();
}

void PipedProgram::send(std::string bytes) {
  if (closing_) return;
  unsent_ += bytes;
  if (!std::exchange(writing_, true)) run_in_background(executor_, write(shared_from_this()));
}

void PipedProgram::send_file(const std::string& path) {
  file_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_.valid()) return close();
  if (!std::exchange(writing_, true)) run_in_background(executor_, write(shared_from_this()));
}

// What is to be written next; false if there is nothing.
bool PipedProgram::read_piece() {
  piece_.resize(file_.valid() ? largest_piece : 0);
  if (file_.valid()) {
    const ssize_t size = ::read(file_.get(), piece_.data(), piece_.size());
    piece_.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    if (size <= 0) file_.reset();
  }
  if (piece_.empty()) piece_ = std::exchange(unsent_, {});
  return !piece_.empty();
}

void PipedProgram::close() {
  closing_ = true;
  boost::system::error_code ignored;
  if (!writing_) in_.close(ignored);
}

PipedProgram::Task PipedProgram::write(std::shared_ptr<PipedProgram> /*self*/) {
  while (in_.is_open() && read_piece()) {
    auto writing = asio::async_write(in_, asio::buffer(piece_), as_values);
    const auto [error, size] = co_await std::move(writing);
    if (error) closing_ = true;
    if (error) break;
    if (handlers_.on_taken) handlers_.on_taken(size);
  }
  writing_ = false;
  if (closing_) close();
}

void PipedProgram::hold(bool held) {
  held_ = held;
  if (!held && !status_) gate_.cancel();
}

void PipedProgram::take(std::string_view bytes, bool errors) {
  if (!errors) return handlers_.on_bytes(bytes);
  if (handlers_.on_errors) return handlers_.on_errors(bytes);
  errors_.append(bytes);
  if (errors_.size() > most_errors) errors_.erase(0, errors_.size() - most_errors);
}

// At most so much of what is there now; 0: nothing is yet. Nothing: it is at its end.
std::optional<std::size_t> PipedProgram::read_some(Stream& stream, bool errors, std::size_t most) {
  static std::array<char, 65536> bytes;  // of the one thread: ten thousand programs share it
  ssize_t size = 0;
  do {
    size = ::read(stream.native_handle(), bytes.data(), std::min(most, bytes.size()));
  } while (size < 0 && errno == EINTR);
  if (size == 0 || (size < 0 && errno != EAGAIN)) return std::nullopt;
  if (size < 0) return 0;
  take({bytes.data(), static_cast<std::size_t>(size)}, errors);
  return static_cast<std::size_t>(size);
}

PipedProgram::Task PipedProgram::read(std::shared_ptr<PipedProgram> /*self*/, Stream& stream, bool errors) {
  for (;;) {
    auto waiting = stream.async_wait(Stream::wait_read, as_values);
    const auto [error] = co_await std::move(waiting);
    while (held_ && !status_) (void)co_await gate_.async_wait(as_values);
    if (error || cut_off_ || !read_some(stream, errors, std::string::npos)) break;
  }
  // Who still writes may do so for ever, so only what is in the pipe now is read.
  std::size_t left = cut_off_ ? bytes_waiting(stream.native_handle()) : 0;
  while (left > 0) {
    const std::size_t size = read_some(stream, errors, left).value_or(0);
    left = size > 0 ? left - size : 0;
  }
  --open_;
  look_for_end();
}

void PipedProgram::look_for_end() {
  if (!status_ || open_ > 0 || !handlers_.on_end) return;
  boost::system::error_code ignored;
  for (Stream* stream : {&in_, &out_, &err_}) stream->close(ignored);
  closing_ = true;
  gate_.cancel();
  const auto handlers = std::exchange(handlers_, {});
  handlers.on_end(*status_, errors_);
}

void PipedProgram::signal(int number, pid_t origin) {
  if (!status_) hand_on(child_.pid(), number, origin);
}

void PipedProgram::kill() {
  if (!status_) hand_on(-child_.pid(), SIGKILL, 0);
}

}  // namespace launch
