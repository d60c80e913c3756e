#include "launch/core/cluster/apinfo.hpp"

#include "../../support/apinfo.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::apinfo_test {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string two_nodes = starts::apinfo({"n1", "n2"}, {{0, 0}, {1, 0}, {0, 1}});

// With a number changed.
std::string with(std::size_t at, std::int32_t number) {
  std::string bytes = two_nodes;
  std::memcpy(bytes.data() + at, &number, sizeof number);
  return bytes;
}

TEST(ApInfo, TellsWhereEachRankIs) {
  const auto info = parse_apinfo(two_nodes);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_THAT(info->hosts, ElementsAre("n1", "n1", "n2"));
  EXPECT_THAT(info->local_ranks, ElementsAre(0, 1, 0));
}

TEST(ApInfo, NonsenseIsAnError) {
  EXPECT_THAT(parse_apinfo("").error().message, HasSubstr("the file has no header"));
  EXPECT_THAT(parse_apinfo(with(0, 0)).error().message, HasSubstr("the unknown version 0"));
  EXPECT_THAT(parse_apinfo(with(8, 1'000'000)).error().message, HasSubstr("less than its header says"));
  for (const std::size_t at : {std::size_t{64}, std::size_t{80}, std::size_t{88}, std::size_t{104}})
    for (const int number : {-1, 0, 100'000})
      EXPECT_THAT(parse_apinfo(with(at, number)).error().message, HasSubstr("a table that is not in it")) << at;
  for (const std::size_t at : {std::size_t{72}, std::size_t{96}})
    EXPECT_FALSE(parse_apinfo(with(at, 2'000'000'000))) << at;
  EXPECT_THAT(parse_apinfo(with(208, 2)).error().message, HasSubstr("no node for rank 0"));
  EXPECT_THAT(parse_apinfo(with(200, -1)).error().message, HasSubstr("no node for rank 0"));
  EXPECT_THAT(parse_apinfo(starts::apinfo({"n 1"}, {{0, 0}})).error().message, HasSubstr("no name for node 0"));
  EXPECT_FALSE(parse_apinfo(starts::apinfo({std::string(64, 'n')}, {{0, 0}})));
  for (std::size_t size = 0; size < two_nodes.size(); ++size) EXPECT_FALSE(parse_apinfo(two_nodes.substr(0, size)));
}

}  // namespace launch::apinfo_test
