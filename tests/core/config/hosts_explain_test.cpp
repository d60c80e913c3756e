#include "launch/core/config/hosts_explain.hpp"

#include "launch/core/base/json_reader.hpp"

#include "settling.hpp"

namespace launch::hosts_explain_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

HostsPlan plan_of(Args args, const Args& program = {"train.py", "--text", "it's $5"}) {
  HeadFacts facts;
  facts.env = {{"B", "two words"}, {"C", "x\x1b[1m\ny"}};
  facts.own_names = {"login"};
  facts.folder = "/my work";
  facts.self = "/opt/launch";
  facts.fresh_id = "fresh";
  args.insert(args.end(), program.begin(), program.end());
  const auto line = read_option_line(args);
  const auto command = parse_command(args, facts.env);
  if (line && command)
    if (auto plan = plan_hosts(std::get<Options>(*command), *line, facts)) return *std::move(plan);
  ADD_FAILURE() << "the line is wrong";
  return {};
}

TEST(HostsExplain, NamesEachStartAndWhatANodeHasOfItsOwn) {
  const std::string text = hosts_text(plan_of({"--hosts=n1:2,localhost,n3", "--include=n1@localhost@n3:0,2"}));
  EXPECT_THAT(text, AllOf(HasSubstr("node 0  n1\n        ssh -T "),
                          HasSubstr("\n        options of this node: --nproc-per-node=2\nnode 1"),
                          HasSubstr("node 1  localhost\n        /opt/launch --remote 1\nnode 2"),
                          HasSubstr("\n        variable of this node: CUDA_VISIBLE_DEVICES=0,2\n")));
}

TEST(HostsExplain, EveryLineCanBePasted) {
  const std::string text = hosts_text(plan_of({"--hosts=n1", "--env=A=a;b"}));
  EXPECT_THAT(text, AllOf(HasSubstr(" n1 -- 'test -x /opt/launch && exec /opt/launch --remote 1; exec launch"),
                          HasSubstr("on each: launch '--log-line-prefix-template=[${host}"),
                          HasSubstr(R"( train.py --text 'it'\''s $5')"), HasSubstr("in '/my work'\n"),
                          HasSubstr("\n  A='a;b'\n  B='two words'\n  C=$'x\\033[1m\\012y'\n")));
  EXPECT_THAT(text, Not(HasSubstr(" -- train.py")));
  EXPECT_THAT(hosts_text(plan_of({"--hosts=n1", "--no-python", "--"}, {"-x"})), HasSubstr(" -- -x\n"));
}

TEST(HostsExplain, ProgramsReadTheSameAsOneDocument) {
  const HostsPlan plan = plan_of({"--hosts=n1:2,n2", "--include=n1@n2:0,2", "--env=BYTES=\xff"});
  const JsonValue all = read_json(hosts_json(plan));
  EXPECT_EQ(all["run_id"].text(), "fresh");
  EXPECT_EQ(all["nnodes"].text(), "2");
  EXPECT_EQ(all["folder"].text(), "/my work");
  EXPECT_EQ(all["options"].texts(), plan.head.options);
  EXPECT_EQ(all["program"].texts(), (Args{"train.py", "--text", "it's $5"}));
  EXPECT_EQ(all["environment"]["B"].text(), "two words");
  EXPECT_EQ(all["environment"]["BYTES"].text(), "\xEF\xBF\xBD");
  const auto nodes = all["nodes"].list().value_or(std::vector<JsonValue>());
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0]["host"].text(), "n1");
  EXPECT_EQ(nodes[0]["options"].texts(), Args{"--nproc-per-node=2"});
  EXPECT_EQ(nodes[0]["start"].texts(), start_line(plan.hosts[0], plan.start));
  EXPECT_EQ(nodes[1]["node"].whole(0, 9), 1);
  EXPECT_EQ(nodes[1]["environment"]["CUDA_VISIBLE_DEVICES"].text(), "0,2");
}

}  // namespace launch::hosts_explain_test
