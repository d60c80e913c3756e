#include "launch/io/local_address.hpp"

#include "launch/io/background.hpp"

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

namespace launch::local_address_test {

boost::asio::awaitable<void> ask(std::string host, bool& answer) {
  answer = (co_await find_host(host, "n7", never)).here;
}

bool is_here(const std::string& host) {
  boost::asio::io_context context;
  bool answer = false;
  run_in_background(context.get_executor(), ask(host, answer));
  context.run();
  return answer;
}

TEST(LocalAddress, LoopbackAndTheOwnNameAreHere) {
  for (const char* host : {"localhost", "127.0.0.1", "127.0.0.9", "::1", "n7"}) EXPECT_TRUE(is_here(host)) << host;
}

TEST(LocalAddress, AnAddressOfNoInterfaceIsElsewhere) {
  for (const char* host : {"192.0.2.1", "2001:db8::1"}) EXPECT_FALSE(is_here(host)) << host;
}

}  // namespace launch::local_address_test
