#include "launch/io/store_access.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/store_server.hpp"

#include "run.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace launch::store_access_test {

namespace asio = boost::asio;
using namespace std::chrono_literals;

TEST(StoreAccess, IsOfTheKindThatTheEndpointNames) {
  asio::io_context io{1};
  StoreServer server(io.get_executor(), [](const std::string&) {});
  ASSERT_TRUE(server.listen("127.0.0.1", 0, true));
  std::string name = testing::TempDir() + "store_access_XXXXXX";
  const std::string folder = ::mkdtemp(name.data());
  for (const Endpoint& endpoint :
       {Endpoint{"127.0.0.1", server.port()}, Endpoint{folder + "/store", 0, StoreKind::file}}) {
    auto reached = run(io, reach_store(endpoint, "j", later(now(), 10s)));
    ASSERT_TRUE(reached) << reached.error().message;
    EXPECT_EQ((*reached)->peer(), endpoint);
    Operation set = SetKeys{{{"/a", "1"}}};
    EXPECT_TRUE(run(io, (*reached)->perform(std::move(set), later(now(), 10s))));
  }
  const Endpoint etcd{"127.0.0.1", server.port(), StoreKind::etcd};
  const auto refused = run(io, reach_store(etcd, "j", later(now(), 10s)));
  ASSERT_FALSE(refused);  // that is a TCPStore, which closes the connection
  EXPECT_THAT(refused.error().message, testing::HasSubstr("the connection to the etcd at"));
  std::filesystem::remove_all(folder);
}

}  // namespace launch::store_access_test
