#include "launch/io/live_page.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/host.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr const char* to_other_page = "\x1b[?1049h\x1b[?25l";
constexpr const char* back_to_page = "\x1b[?25h\x1b[?1049l";
constexpr const char* to_corner = "\x1b[H";
constexpr const char* clear_line = "\x1b[K";
constexpr const char* clear_rest = "\x1b[J";

sigset_t heard_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) sigaddset(&set, signal);
  return set;
}

}  // namespace

struct LivePage::Terminal {
  Fd signals;
  termios before{};
  sigset_t mask{};
};

Result<std::unique_ptr<LivePage>> LivePage::open() {
  auto terminal = std::make_unique<Terminal>();
  if (::isatty(STDOUT_FILENO) == 0 || ::tcgetattr(STDIN_FILENO, &terminal->before) != 0)
    return usage_error("top needs a terminal; status says the same once");
  const sigset_t heard = heard_signals();
  ::sigprocmask(SIG_BLOCK, &heard, &terminal->mask);
  terminal->signals = Fd(::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK));
  termios keys = terminal->before;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  keys.c_cc[VSUSP] = _POSIX_VDISABLE;  // a page that is suspended would stay on the terminal
  ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  (void)write_all(STDOUT_FILENO, to_other_page);
  return std::unique_ptr<LivePage>(new LivePage(std::move(terminal)));
}

LivePage::LivePage(std::unique_ptr<Terminal> terminal) : terminal_(std::move(terminal)) {}

LivePage::~LivePage() {
  (void)write_all(STDOUT_FILENO, back_to_page);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &terminal_->before);
  ::sigprocmask(SIG_SETMASK, &terminal_->mask, nullptr);
}

LivePage::Size LivePage::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

// Line by line over the last page, so that it does not flicker.
bool LivePage::show(const std::string& text) {
  std::string drawn = to_corner;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    drawn += rest.substr(0, end);
    drawn += clear_line;
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!rest.empty()) drawn += "\r\n";
  }
  drawn += clear_rest;
  if (!write_all(STDOUT_FILENO, drawn)) ended_ = true;
  return !ended_;
}

LivePage::Event LivePage::wait(Duration time, int fd) {
  const Time until = later(now(), time);
  while (!ended_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now()).count();
    if (left <= 0) return Event::time;
    pollfd sources[] = {{STDIN_FILENO, POLLIN, 0}, {terminal_->signals.get(), POLLIN, 0}, {fd, POLLIN, 0}};
    if (::poll(sources, 3, static_cast<int>(left)) < 0 && errno != EINTR) ended_ = true;
    signalfd_siginfo signal{};
    if (::read(terminal_->signals.get(), &signal, sizeof signal) == sizeof signal) {
      if (signal.ssi_signo == SIGWINCH) return Event::resized;
      ended_ = true;
    }
    char key = 0;
    const bool readable = (sources[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
    if (readable && (::read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q')) ended_ = true;
    if (!ended_ && sources[2].revents != 0) return Event::readable;
  }
  return Event::ended;
}

}  // namespace launch
