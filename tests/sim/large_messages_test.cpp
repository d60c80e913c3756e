// Messages between hosts at the limits of their size: megabytes of JSON, which a quick run reads without sanitizers.
// What they hold is tested in core/host_messages_test.
#include "launch/core/hosts/host_messages.hpp"

#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace launch::large_messages_test {

NodeJob some_job() {
  return {3, 8, {"--nproc-per-node", "2", "train.py"}, {"A=1", "B=x y", "C="}, "/home/me", 027, 20'000};
}

std::string body_of(const HostMessage& message) {
  std::string body;
  append_body(body, message);
  return body;
}

std::string fault_of(const HostMessage& message) {
  const auto read = parse_body(kind_of(message), body_of(message));
  if (read) return "";
  EXPECT_EQ(read.error().code, ErrorCode::protocol);
  EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  return read.error().message;
}

bool passes(const NodeJob& job) {
  const std::string body = body_of(job);
  EXPECT_LE(body.size(), longest_body_of(kind_of(job)));
  const auto read = parse_body(kind_of(job), body);
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return read && std::get<NodeJob>(*read) == job;
}

TEST(LargeMessages, AnEnvironmentOfTwoMebibytesPasses) {
  NodeJob job = some_job();
  std::size_t size = 0;
  for (job.env.clear(); size < std::size_t{2} << 20; size += job.env.back().size() + 1)
    job.env.push_back("VARIABLE_" + std::to_string(size) + "=\xff\x01" + std::string(200, 'v'));
  EXPECT_TRUE(passes(job));
  job.env = {"LONG=" + std::string(std::size_t{2} << 20, '"')};
  EXPECT_TRUE(passes(job));
}

TEST(LargeMessages, WordsAreBounded) {
  const auto fault = [](std::size_t arguments, std::size_t variables) {
    NodeJob job = some_job();
    job.args = {std::string(arguments - 9, 'a')};
    job.env = {std::string(variables - 9, 'v')};
    return fault_of(job);
  };
  EXPECT_EQ(fault(longest_words, 10), "");
  EXPECT_EQ(fault(longest_words + 1, 10), "a frame job without a valid \"args\"");
  EXPECT_EQ(fault(10, longest_environment), "");
  EXPECT_EQ(fault(10, longest_environment + 1), "a frame job without a valid \"env\"");
  EXPECT_EQ(fault_of(NodeGo{std::vector<std::string>(longest_words / 9 + 1)}), "a frame go without a valid \"args\"");
}

}  // namespace launch::large_messages_test
