// What plan_hosts() makes of --stdin and --fold.
#include "planning.hpp"

#include "launch/core/hosts/folded_output.hpp"

namespace launch::hosts_settings_test {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Readers = HeadInput::Readers;

HeadFacts with_input() {
  HeadFacts facts = facts_of();
  facts.input = true;
  return facts;
}

struct InputRow {
  Args args;
  bool input;  // standard input is a pipe or a file
  Readers readers;
  int rank;
};

TEST(HostsStreams, WhoGetsTheStandardInput) {
  for (const InputRow& row : std::vector<InputRow>{{{"--hosts=n1,n2"}, false, Readers::none, 0},
                                                   {{"--hosts=n1,n2"}, true, Readers::one, 0},
                                                   {{"--hosts=n1,n2", "--stdin=3"}, false, Readers::one, 3},
                                                   {{"--hosts=n1,n2", "--stdin=all"}, false, Readers::each, 0},
                                                   {{"--hosts=n1,n2", "--stdin=none"}, true, Readers::none, 0},
                                                   {{"--hosts=n1,n2,n3+1"}, true, Readers::none, 0},
                                                   {{"--hosts=n1,n2", "--detach"}, true, Readers::none, 0},
                                                   {{"--hosts=n1,n2", "--check"}, true, Readers::none, 0}}) {
    const HostsPlan plan = plan_of(row.args, row.input ? with_input() : facts_of());
    EXPECT_EQ(plan.head.input.readers, row.readers) << row.args.back();
    EXPECT_EQ(plan.head.input.rank, row.rank);
  }
  HeadFacts list = with_input();
  list.host_file = "n1\nn2\n";
  EXPECT_EQ(plan_of({"--hostfile=-"}, list).head.input.readers, Readers::none) << "it was the list";
  EXPECT_EQ(plan_of({"--hostfile=f"}, list).head.input.readers, Readers::one);
}

TEST(HostsStreams, TheNodesAreToldWhoGetsIt) {
  EXPECT_THAT(plan_of({"--hosts=n1,n2"}, with_input()).head.options, Contains("--stdin=0"));
  EXPECT_THAT(plan_of({"--hosts=n1,n2", "--stdin=3"}).head.options, Contains("--stdin=3"));
  EXPECT_THAT(plan_of({"--hosts=n1,n2"}).head.options, Not(Contains(StartsWith("--stdin"))));
}

TEST(HostsStreams, AWishThatCannotBeMetIsRefused) {
  const char* one_of = "expected the rank of a worker (0 or more), all or none";
  EXPECT_EQ(refusal({"--hosts=n1", "--stdin=x"}), std::string("--stdin x: ") + one_of);
  EXPECT_THAT(refusal({"--hosts=n1", "--stdin=-1"}), HasSubstr(one_of));
  EXPECT_EQ(refusal({"--hosts=n1,n2,n3+1", "--stdin=0"}),
            "--stdin 0: no worker can get the standard input: the ranks of an elastic job move from host to host; "
            "leave it out");
  EXPECT_THAT(refusal({"--hosts=n1", "--detach", "--stdin=all"}), HasSubstr("a job in the background reads none"));
  HeadFacts list = facts_of();
  list.host_file = "n1\n";
  EXPECT_THAT(refusal({"--hostfile=-", "--stdin=0"}, list), HasSubstr("it has the list of hosts"));
  EXPECT_EQ(plan_of({"--hosts=n1,n2,n3+1", "--stdin=none"}).head.input.readers, Readers::none);
}

TEST(HostsStreams, FoldedLinesAreMarkedByTheNodes) {
  HeadFacts terminal = facts_of();
  terminal.terminal = true;
  const HostsPlan plan = plan_of({"--hosts=n1,n2", "--fold", "--color=always"}, terminal);
  EXPECT_TRUE(plan.head.folds);
  EXPECT_THAT(plan.head.options, Contains("--fold"));
  EXPECT_THAT(plan.head.options, Contains("--log-line-prefix-template=" + std::string(node_prefix)));
  EXPECT_EQ(plan.head.options.back(), "--color=never") << "the last one counts";
  EXPECT_FALSE(plan_of({"--hosts=n1,n2"}).head.folds);
  const HostsPlan own = plan_of({"--hosts=n1,n2", "--fold", "--log-line-prefix-template=${host}:"});
  EXPECT_FALSE(own.head.folds) << "each host folds its own lines";
  EXPECT_THAT(own.head.options, Contains("--log-line-prefix-template=${host}:"));
}

}  // namespace launch::hosts_settings_test
