#include "launch/core/base/template_text.hpp"

#include <gtest/gtest.h>

namespace launch::template_text_test {

TEST(TemplateText, FollowsPythonsSafeSubstitute) {
  const TemplateValues values{{"local_rank", "3"}, {"rank", "7"}};
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"${local_rank}", "3"},
      {"$local_rank", "3"},
      {"$local_rank.$rank", "3.7"},
      {"$local_ranks", "$local_ranks"},
      {"${local_rank", "${local_rank"},
      {"${ local_rank}", "${ local_rank}"},
      {"$$", "$"},
      {"$$local_rank", "$local_rank"},
      {"$$$rank", "$7"},
      {"$HOME $", "$HOME $"},
      {"$rank$rank", "77"},
      {"a$", "a$"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(substitute(text, values), expected) << text;
}

TEST(TemplateText, ValuesAreNotLookedAtAgain) { EXPECT_EQ(substitute("$a", {{"a", "$$b"}, {"b", "x"}}), "$$b"); }

}  // namespace launch::template_text_test
