#include "launch/core/control/control_request.hpp"

#include <gtest/gtest.h>

namespace launch::control_request_test {
namespace {

using Verb = ControlRequest::Verb;

TEST(ControlRequest, IsReadAsItWasWritten) {
  for (const Verb verb : {Verb::about, Verb::status, Verb::stacks, Verb::quiet, Verb::signal, Verb::stop}) {
    const ControlRequest request{verb, false, 7, 10, 1234};
    const auto read = parse_request(to_json(request));
    ASSERT_TRUE(read) << to_json(request);
    EXPECT_EQ(request, *read);
  }
  EXPECT_EQ(ControlRequest(), *parse_request(to_json(ControlRequest())));
}

TEST(ControlRequest, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"", "status", "[]", "{}", R"({"verb":"dance"})", R"({"verb":7})", R"({"verb":"signal"})",
                           R"({"verb":"signal","signal":0})", R"({"verb":"signal","signal":65})",
                           R"({"verb":"stacks","rank":-1})", R"({"verb":"stacks","rank":"x"})"})
    EXPECT_FALSE(parse_request(text)) << text;
  EXPECT_FALSE(parse_request(R"({"verb":"status","x":")" + std::string(5000, 'x') + "\"}"));
}

}  // namespace
}  // namespace launch::control_request_test
