#include "launch/core/options/option_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::option_line_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Args = std::vector<std::string>;

// "--name=value" of every option, then "|" and the program with its arguments; or the error's message.
Args read(const Args& args) {
  const auto line = read_option_line(args);
  if (!line) {
    EXPECT_EQ(line.error().code, ErrorCode::usage);
    return {line.error().message};
  }
  Args result;
  for (const GivenOption& given : line->options)
    result.push_back(std::string(given.row->name) + (given.value ? "=" + *given.value : ""));
  result.emplace_back("|");
  result.insert(result.end(), line->program.begin(), line->program.end());
  return result;
}

TEST(OptionLine, UniqueBeginningsStandForTheirOption) {
  EXPECT_THAT(read({"--stand", "--nproc-per", "4", "--nproc_per_n=3", "--max-r=1", "--redirect=3", "--mod", "a"}),
              ElementsAre("--standalone", "--nproc-per-node=4", "--nproc-per-node=3", "--max-restarts=1",
                          "--redirects=3", "--module", "|", "a"));
  // Only a later torchrun than 2.13 has a second option that begins so.
  EXPECT_THAT(read({"--log-=d", "--log_=d", "a"}), ElementsAre("--log-dir=d", "--log-dir=d", "|", "a"));
  // Both spellings of one option are no ambiguity.
  EXPECT_THAT(read({"--nproc=2", "--node", "1", "a"}), ElementsAre("--nproc-per-node=2", "--node-rank=1", "|", "a"));
}

TEST(OptionLine, OptionsOfOursAreNeverMeantByABeginning) {
  EXPECT_THAT(read({"--e=null", "a"}), ElementsAre("--event-log-handler=null", "|", "a"));
  EXPECT_THAT(read({"--expl", "a"})[0], HasSubstr("unknown option --expl; did you mean --explain?"));
  EXPECT_THAT(read({"--vers"})[0], HasSubstr("did you mean --version?"));
}

TEST(OptionLine, ABeginningOfSeveralIsAnErrorThatNamesThem) {
  EXPECT_THAT(read({"--rdzv-e=h:1", "a"}), ElementsAre("--rdzv-endpoint=h:1", "|", "a"));
  EXPECT_THAT(read({"--rdzv=h:1", "a"})[0], HasSubstr("ambiguous option --rdzv: it could be --rdzv-backend or "));
  EXPECT_THAT(read({"--n", "a"})[0], HasSubstr("ambiguous option --n"));
}

TEST(OptionLine, MixedSpellingsAreUnknown) {
  EXPECT_THAT(read({"--nproc-per_node=2", "a"})[0], HasSubstr("did you mean --nproc-per-node?"));
}

TEST(OptionLine, ShortOptionsAreBundled) {
  EXPECT_THAT(read({"-mt3", "pkg"}), ElementsAre("--module", "--tee=3", "|", "pkg"));
  EXPECT_THAT(read({"-t", "3", "-r=1", "-t2", "a"}), ElementsAre("--tee=3", "--redirects=1", "--tee=2", "|", "a"));
  EXPECT_THAT(read({"-mt", "3", "a"}), ElementsAre("--module", "--tee=3", "|", "a"));
  EXPECT_THAT(read({"-mx", "a"})[0], HasSubstr("unknown option -mx"));
}

TEST(OptionLine, AValueMayBeANegativeNumberOrHoldABlank) {
  EXPECT_THAT(read({"--node-rank", "-1", "a"}), ElementsAre("--node-rank=-1", "|", "a"));
  EXPECT_THAT(read({"--role", "-a b", "a"}), ElementsAre("--role=-a b", "|", "a"));
  EXPECT_THAT(read({"--role", "-.5", "a"}), ElementsAre("--role=-.5", "|", "a"));
  EXPECT_THAT(read({"--role", "-1e5", "a"})[0], HasSubstr("--role needs a value"));
  EXPECT_THAT(read({"--role", "-x", "a"})[0], HasSubstr("write --role=-x if that is the value"));
  EXPECT_THAT(read({"--role", "", "a"}), ElementsAre("--role=", "|", "a"));
}

TEST(OptionLine, AnOptionalValueStandsBehindAnEqualsSignOnly) {
  EXPECT_THAT(read({"--explain", "json"}), ElementsAre("--explain", "|", "json"));
  EXPECT_THAT(read({"--explain=json", "a"}), ElementsAre("--explain=json", "|", "a"));
}

TEST(OptionLine, OneDoubleDashBeforeOrDirectlyBehindTheProgramIsDropped) {
  struct Case {
    Args args;
    Args program;
  };
  const Case cases[] = {
      {{"--", "s.py", "--x"}, {"s.py", "--x"}},
      {{"s.py", "--", "--x"}, {"s.py", "--x"}},
      {{"--", "s.py", "--", "--x"}, {"s.py", "--", "--x"}},
      {{"s.py", "--", "--"}, {"s.py", "--"}},
      {{"s.py", "a", "--", "b"}, {"s.py", "a", "--", "b"}},
      {{"-m", "--", "pkg.mod"}, {"pkg.mod"}},
      {{"--", "-odd-name", "x"}, {"-odd-name", "x"}},
      {{"-", "x"}, {"-", "x"}},
  };
  for (const auto& c : cases) EXPECT_EQ(read_option_line(c.args)->program, c.program);
}

}  // namespace launch::option_line_test
