#include "launch/core/control/control_request.hpp"

#include <gtest/gtest.h>

namespace launch::control_request_test {
namespace {

using Verb = ControlRequest::Verb;

TEST(ControlRequest, IsReadAsItWasWritten) {
  for (const Verb verb : {Verb::about, Verb::status, Verb::stacks, Verb::timeline, Verb::quiet, Verb::signal,
                          Verb::stop, Verb::restart, Verb::drain, Verb::logs, Verb::filter}) {
    ControlRequest request{verb, false, 7, 3, 9, 10};
    request.asker = 1234;
    request.asker_host = "n1";
    if (verb == Verb::filter) request.local_ranks = {0, 2};
    if (verb == Verb::logs) {
      request.reader = std::int64_t{1} << 60;
      request.step = 5;
      request.lines = 100;
      request.ends = true;
      request.since_s = 90.5;
    }
    const auto read = parse_request(to_json(request));
    ASSERT_TRUE(read) << to_json(request);
    EXPECT_EQ(request, *read);
  }
  EXPECT_EQ(ControlRequest(), *parse_request(to_json(ControlRequest())));
}

TEST(ControlRequest, SaysWhoAsks) {
  ControlRequest request;
  request.asker = 7;
  request.asker_host = "n1\x1b[2J";
  EXPECT_EQ(asker_text(request).find('\x1b'), std::string::npos);
  request.asker_host = "n1";
  EXPECT_EQ("launch-ctl (pid 7 on n1)", asker_text(request));
}

TEST(ControlRequest, RefusesWhatItDoesNotKnow) {
  for (const char* text :
       {"", "status", "[]", "{}", R"({"verb":"dance"})", R"({"verb":7})", R"({"verb":"signal"})",
        R"({"verb":"signal","signal":0})", R"({"verb":"signal","signal":65})", R"({"verb":"stacks","rank":-1})",
        R"({"verb":"stacks","rank":"x"})", R"({"verb":"drain"})", R"({"verb":"drain","node":-1})",
        R"({"verb":"filter","local_ranks":[-1]})", R"({"verb":"logs","since_s":-1})",
        R"({"verb":"logs","since_s":"x"})", R"({"verb":"logs","since_s":1e300})"})
    EXPECT_FALSE(parse_request(text)) << text;
  EXPECT_FALSE(parse_request(R"({"verb":"status","x":")" + std::string(5000, 'x') + "\"}"));
}

}  // namespace
}  // namespace launch::control_request_test
