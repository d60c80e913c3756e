#include "launch/io/file_store_client.hpp"

#include "launch/core/store/keys.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/fd.hpp"

#include "run.hpp"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>
#include <boost/asio/steady_timer.hpp>

namespace launch::file_store_client_test {

namespace asio = boost::asio;
using testing::HasSubstr;
using namespace std::chrono_literals;

class FileStoreClientTest : public testing::Test {
 protected:
  FileStoreClientTest() {
    std::string name = testing::TempDir() + "file_store_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ + "/store";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<FileStoreClient> open(const std::string& path) { return run(io_, open_file_store(path, later(now(), 10s))); }
  FileStoreClient opened() {
    auto client = open(path_);
    EXPECT_TRUE(client) << client.error().message;
    return std::move(*client);
  }

  Result<Outcome> ask(FileStoreClient& client, Operation operation, Duration patience = 10s) {
    return run(io_, client.perform(std::move(operation), later(now(), patience)));
  }
  template <class Kind>
  Kind outcome(FileStoreClient& client, Operation operation, Duration patience = 10s) {
    auto got = ask(client, std::move(operation), patience);
    EXPECT_TRUE(got) << got.error().message;
    return got ? std::get<Kind>(*got) : Kind{};
  }

  asio::io_context io_{1};
  std::string folder_, path_;
};

TEST_F(FileStoreClientTest, TwoSeeWhatEachOtherWrites) {
  FileStoreClient one = opened(), other = opened();
  outcome<Done>(one, SetKeys{{{"/a", "1"}}});
  EXPECT_EQ(outcome<Number>(other, AddNumber{"/a", 4}).value, 5);
  EXPECT_EQ(outcome<Values>(one, GetKeys{{"/a"}}).values, KeyList{"5"});
  EXPECT_EQ(outcome<Values>(one, CompareSet{"/c", "", "mine"}).values, KeyList{"mine"});
  EXPECT_EQ(outcome<Values>(other, CompareSet{"/c", "", "theirs"}).values, KeyList{"mine"});
  EXPECT_EQ(outcome<Number>(other, DeleteKeys{{"/c"}}).value, 1);
  EXPECT_EQ(outcome<Presence>(one, CheckKeys{{"/a", "/c"}}).present, (std::vector<bool>{true, false}));
  EXPECT_EQ(one.peer(), (Endpoint{path_, 0, StoreKind::file}));
}

asio::awaitable<void> set(FileStoreClient& client, std::string key) {
  Operation set = SetKeys{{{key, "here"}}};
  (void)co_await client.perform(std::move(set), never);
}

TEST_F(FileStoreClientTest, AWaitIsEndedByAnotherClientsSet) {
  FileStoreClient waiter = opened(), setter = opened();
  run_in_background(io_.get_executor(), set(setter, "/key"));
  outcome<Done>(waiter, AwaitKeys{{"/key"}});
}

TEST_F(FileStoreClientTest, AWaitMayExpireOrBeWoken) {
  FileStoreClient client = opened();
  outcome<WaitExpired>(client, AwaitKeys{{"/z"}}, 20ms);
  outcome<WaitExpired>(client, AwaitKeys{{std::string(never_key)}}, 20ms);
  outcome<Done>(client, SetKeys{{{"/z", "1"}}});
  outcome<Done>(client, AwaitKeys{{"/z"}}, 0ms);
  for (const char* key : {"/never", never_key.data()}) {
    asio::steady_timer timer(io_, 10ms);
    timer.async_wait([&](const boost::system::error_code&) { client.wake(); });
    outcome<WaitExpired>(client, AwaitKeys{{key}}, 600s);
  }
}

TEST_F(FileStoreClientTest, WhoHasTheLockIsWaitedFor) {
  FileStoreClient client = opened();
  Fd holder(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(holder.get(), LOCK_EX), 0);
  const auto refused = ask(client, SetKeys{{{"/a", "1"}}}, 50ms);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::timeout);
  EXPECT_THAT(refused.error().message, HasSubstr(path_ + " does not answer: others keep it locked"));
  holder.reset();
  outcome<Done>(client, SetKeys{{{"/a", "1"}}});
}

TEST_F(FileStoreClientTest, AFileThatWasRemovedIsANewOne) {
  FileStoreClient client = opened();
  outcome<Done>(client, SetKeys{{{"/a", "1"}}});
  std::filesystem::remove(path_);
  EXPECT_EQ(outcome<Values>(client, GetKeys{{"/a"}}).values, KeyList{""});
}

TEST_F(FileStoreClientTest, CloseEndsWhatIsUnderWay) {
  FileStoreClient client = opened();
  asio::steady_timer timer(io_, 10ms);
  timer.async_wait([&](const boost::system::error_code&) { client.close(); });
  const auto waited = ask(client, AwaitKeys{{"/z"}}, 600s);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, ErrorCode::closed);
}

TEST_F(FileStoreClientTest, WhatCannotBeAStoreIsNamed) {
  EXPECT_THAT(open(folder_ + "/no/store").error().message,
              HasSubstr("cannot open the file of the store, " + folder_ + "/no/store: No such file or directory"));
  EXPECT_THAT(open(folder_).error().message, HasSubstr("Is a directory"));
  std::ofstream(path_) << "#!/bin/sh\necho hello\n";
  EXPECT_THAT(open(path_).error().message, HasSubstr(path_ + " cannot be the store: it does not have the records"));
}

}  // namespace launch::file_store_client_test
