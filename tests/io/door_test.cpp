#include "launch/io/door.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"

#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>

namespace launch::door_test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

asio::awaitable<std::string> echo(std::string line, pid_t visitor) {
  co_return line + " from " + std::to_string(visitor) + "\n";
}

// Runs the context until the door is open, or cannot be.
std::optional<Status> open_door(asio::io_context& context, Door& door, std::vector<std::string> folders,
                                Duration patience = 10s) {
  std::optional<Status> opened;
  bool over = false;
  context.restart();
  const auto opening = [&]() -> asio::awaitable<void> {
    auto trying = door.open(std::move(folders), "7", later(now(), patience));
    opened = co_await std::move(trying);
    over = true;
  };
  run_in_background(context.get_executor(), opening());
  while (!over) context.run_one();
  return opened;
}

bool opens(asio::io_context& context, Door& door, std::vector<std::string> folders) {
  const auto opened = open_door(context, door, std::move(folders));
  return opened && *opened;
}

bool is_readable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, -1) == 1;
}

class DoorTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // What the door says to a visitor that does this.
  template <class Visit>
  void with_door(Visit visit) {
    asio::io_context context;
    Door door(context.get_executor(), echo);
    ASSERT_TRUE(opens(context, door, {folder_ + "/own"}));
    std::thread visitor([&] {
      visit(door.path());
      context.stop();
    });
    context.run();
    visitor.join();
  }

  std::string folder_ = testing::TempDir() + "door_test_" + std::to_string(::getpid());
};

TEST_F(DoorTest, AnswersALine) {
  with_door([](const std::string& path) {
    const auto answer = ask_at_door(path, "hello", 5s);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ("hello from " + std::to_string(::getpid()) + "\n", *answer);
  });
}

TEST_F(DoorTest, WhoeverAsksMayLeaveBeforeTheAnswer) {
  with_door([](const std::string& path) {
    int asked = 0;
    const auto left = ask_at_door(path, "hello", 5s, [&asked](int) { return ++asked > 1; });
    ASSERT_FALSE(left);
    EXPECT_EQ(ErrorCode::closed, left.error().code);
    EXPECT_EQ(1, asked);
    EXPECT_TRUE(ask_at_door(path, "hello", 5s, is_readable));
  });
}

// Otherwise nobody would hear the key that ends the page.
TEST_F(DoorTest, OnlyWhoeverAsksWaits) {
  const std::string path = folder_ + "/silent";
  const Fd silent(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(0, ::bind(silent.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  ASSERT_EQ(0, ::listen(silent.get(), 1));
  const auto answer = ask_at_door(path, "hello", 1h, [](int) { return true; });
  ASSERT_FALSE(answer);
  EXPECT_EQ(ErrorCode::timeout, answer.error().code);
}

TEST_F(DoorTest, IsFoundWhileItIsOpen) {
  with_door([this](const std::string& path) {
    EXPECT_THAT(find_doors({folder_ + "/nowhere", folder_ + "/own"}), testing::ElementsAre(path));
    struct stat info {};
    ASSERT_EQ(0, ::stat((folder_ + "/own").c_str(), &info));
    EXPECT_EQ(0700U, info.st_mode & 0777);
  });
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/own"));
}

TEST_F(DoorTest, DoorsOfTheDeadAreRemoved) {
  asio::io_context context;
  auto door = std::make_unique<Door>(context.get_executor(), echo);
  ASSERT_TRUE(opens(context, *door, {folder_ + "/own"}));
  const std::string path = door->path();
  const std::string kept = folder_ + "/kept";
  std::filesystem::create_hard_link(path, kept);
  door.reset();
  std::filesystem::rename(kept, path);
  EXPECT_TRUE(find_doors({folder_ + "/own"}).empty());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(DoorTest, AFolderOfSomebodyElseIsNotUsed) {
  const std::string open_to_all = folder_ + "/open";
  std::filesystem::create_directory(open_to_all);
  ::chmod(open_to_all.c_str(), 0777);
  std::filesystem::create_directory_symlink(folder_, folder_ + "/link");
  asio::io_context context;
  Door none(context.get_executor(), echo);
  Door door(context.get_executor(), echo);
  EXPECT_FALSE(opens(context, none, {open_to_all, folder_ + "/link", folder_ + "/" + std::string(200, 'x')}));
  EXPECT_TRUE(opens(context, door, {open_to_all, folder_ + "/own"}));
  EXPECT_EQ(folder_ + "/own/7.sock", door.path());
}

TEST_F(DoorTest, OpensAlsoAfterTheDeadline) {
  asio::io_context context;
  Door door(context.get_executor(), echo);
  open_door(context, door, {folder_ + "/own"}, Duration::zero());
  while (door.path().empty()) context.run_one();
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/own/7.sock"));
}

TEST_F(DoorTest, ASocketThatNoDoorTakesOverIsRemoved) {
  asio::io_context context;
  auto door = std::make_unique<Door>(context.get_executor(), echo);
  open_door(context, *door, {folder_ + "/own"}, Duration::zero());
  while (!std::filesystem::exists(folder_ + "/own/7.sock")) std::this_thread::yield();
  door.reset();
  while (std::filesystem::exists(folder_ + "/own/7.sock")) context.run_one();
}

TEST_F(DoorTest, IsNotFoundOnceItIsClosed) {
  asio::io_context context;
  Door door(context.get_executor(), echo);
  ASSERT_TRUE(opens(context, door, {folder_ + "/own"}));
  bool over = false;
  context.restart();
  const auto closing = [&]() -> asio::awaitable<void> {
    door.begin_to_close();
    auto removing = door.closed(later(now(), 10s));
    co_await std::move(removing);
    over = true;
  };
  run_in_background(context.get_executor(), closing());
  while (!over) context.run_one();
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/own"));
  EXPECT_EQ("", door.path());
}

TEST_F(DoorTest, WhoSaysTooMuchIsTurnedAway) {
  with_door([](const std::string& path) { EXPECT_FALSE(ask_at_door(path, std::string(100'000, 'x'), 5s)); });
}

TEST(DoorFolders, BeginWithTheRuntimeFolderOfTheUser) {
  EXPECT_EQ("/run/me/launch", door_folders({{"XDG_RUNTIME_DIR", "/run/me"}}).front());
  EXPECT_EQ("/tmp/launch-" + std::to_string(::geteuid()), door_folders({}).back());
}

TEST(DoorFolders, TheUserMayNameOne) {
  const Environment env = {{"LAUNCH_DOORS", "/doors"}, {"XDG_RUNTIME_DIR", "/run/me"}};
  EXPECT_THAT(door_folders(env), testing::ElementsAre("/doors"));
}

}  // namespace
}  // namespace launch::door_test
