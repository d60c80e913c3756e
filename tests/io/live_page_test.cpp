#include "launch/io/live_page.hpp"

#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch::live_page_test {
namespace {

// A program on a terminal of its own that shows one page until it is told to end.
class OnATerminal {
 public:
  OnATerminal() {
    winsize size{30, 100, 0, 0};
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ != 0) return;
    {
      auto page = LivePage::open();
      if (!page) ::_exit(9);
      LivePage& shown = **page;
      do {
        const LivePage::Size now = shown.size();
        shown.show("page " + std::to_string(now.columns) + "x" + std::to_string(now.rows) + "\nsecond\n");
      } while (shown.wait(std::chrono::seconds(60)) == LivePage::Event::resized);
    }
    ::_exit(0);
  }
  ~OnATerminal() {
    ::close(terminal_);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }

  // What was drawn up to this text.
  std::string read_until(const std::string& text) {
    std::string seen;
    pollfd source{terminal_, POLLIN, 0};
    while (seen.find(text) == std::string::npos && ::poll(&source, 1, 20'000) > 0) {
      char bytes[4096];
      const ssize_t got = ::read(terminal_, bytes, sizeof bytes);
      if (got <= 0) break;
      seen.append(bytes, static_cast<std::size_t>(got));
    }
    return seen;
  }
  void type(const std::string& keys) const { (void)!::write(terminal_, keys.data(), keys.size()); }
  void resize(unsigned short rows, unsigned short columns) const {
    const winsize size{rows, columns, 0, 0};
    ::ioctl(terminal_, TIOCSWINSZ, &size);
  }
  void tell(int signal) const { ::kill(pid_, signal); }
  int end() {
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  int terminal_ = -1;
  pid_t pid_ = -1;
};

// A page that waits for a pipe as well.
TEST(LivePage, HearsWhatCanBeRead) {
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    int ends[2];
    auto page = LivePage::open();
    if (!page || ::pipe(ends) != 0 || ::write(ends[1], "x", 1) != 1) ::_exit(9);
    const bool readable = (*page)->wait(std::chrono::seconds(60), ends[0]) == LivePage::Event::readable;
    const bool ended = (*page)->ended();
    page->reset();
    ::_exit(readable && !ended ? 0 : 1);
  }
  char bytes[4096];
  while (::read(terminal, bytes, sizeof bytes) > 0) continue;
  int status = -1;
  ::waitpid(pid, &status, 0);
  ::close(terminal);
  EXPECT_EQ(0, status);
}

constexpr const char* back = "\x1b[?1049l";

TEST(LivePage, FillsTheTerminalAndGivesItBackAtQ) {
  OnATerminal program;
  EXPECT_NE(program.read_until("second").find("page 100x30"), std::string::npos);
  program.resize(40, 120);
  EXPECT_NE(program.read_until("second").find("page 120x40"), std::string::npos);
  program.type("xyq");
  EXPECT_NE(program.read_until(back).find(back), std::string::npos);
  EXPECT_EQ(0, program.end());
}

TEST(LivePage, ASignalGivesTheTerminalBack) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    OnATerminal program;
    program.read_until("second");
    program.tell(signal);
    EXPECT_NE(program.read_until(back).find(back), std::string::npos) << signal;
    EXPECT_EQ(0, program.end());
  }
}

TEST(LivePage, NeedsATerminal) {
  const int saved = ::dup(STDOUT_FILENO);
  int ends[2];
  ASSERT_EQ(0, ::pipe(ends));
  ::dup2(ends[1], STDOUT_FILENO);
  const auto page = LivePage::open();
  ::dup2(saved, STDOUT_FILENO);
  for (const int fd : {saved, ends[0], ends[1]}) ::close(fd);
  ASSERT_FALSE(page);
  EXPECT_EQ("top needs a terminal; status says the same once", page.error().message);
}

}  // namespace
}  // namespace launch::live_page_test
