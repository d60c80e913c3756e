#include "launch/core/hosts/host_messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_messages_test {

using testing::HasSubstr;
using Words = std::vector<std::string>;

std::string body_of(const HostMessage& message) {
  std::string body;
  append_body(body, message);
  return body;
}

// What the other side has of it.
HostMessage passed(const HostMessage& message) {
  const std::string body = body_of(message);
  EXPECT_LE(body.size(), longest_body_of(kind_of(message)));
  auto read = parse_body(kind_of(message), body);
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return read ? *read : HostBeat();
}

template <class T>
T passed_as(const T& message) {
  return std::get<T>(passed(message));
}

std::string fault_of(MessageKind kind, std::string_view body) {
  const auto read = parse_body(kind, body);
  if (read) return "";
  EXPECT_EQ(read.error().code, ErrorCode::protocol);
  EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  return read.error().message;
}

NodeJob some_job() {
  return {3, 8, {"--nproc-per-node", "2", "train.py"}, {"A=1", "B=x y", "C="}, "/home/me", 027, 20'000};
}

std::string changed_job(std::string_view from, std::string_view to) {
  std::string body = body_of(some_job());
  const std::size_t at = body.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return body.replace(at, from.size(), to);
}

TEST(HostMessages, EachIsReadAsItWasWritten) {
  const std::vector<HostMessage> all = {some_job(),
                                        NodeJob(),
                                        NodeReady{"n1", "8d7c", {"10.0.0.1", "fe80::1%ib0"}, 61'003},
                                        NodeReady(),
                                        NodeCannot{"no program train.py in /home/me", 127},
                                        ReachQuestion{{"10.0.0.1", "10.1.0.1"}, 65'535},
                                        ReachAnswer{{"", "connection refused"}},
                                        NodeGo{{"--node-rank", "3"}},
                                        NodeSignal{64},
                                        NodeOutput{true, std::string("a\0b\n", 4)},
                                        NodeOutput{false, std::string(longest_output, 'x')},
                                        NodeInput{"y\n"},
                                        NodeInput(),
                                        HostBeat(),
                                        StartPeer{1'000'000, {"ssh", "n7", "exec launch"}},
                                        PeerBytes{70'000, std::string("a\0b\xff", 4)},
                                        PeerBytes{0, std::string(longest_output, 'x')},
                                        PeerBytes{3, ""},
                                        PeerEnd{7, {ExitStatus::Kind::signalled, 9}, "no\nroute"},
                                        PeerEnd{7, {ExitStatus::Kind::exited, 255}},
                                        NodeShown(),
                                        NodeFile{"a/0/stdout.log", true, std::string("a\0\xff\n", 4), ""},
                                        NodeFile{"x", false, std::string(longest_output, '\n'), "no way"},
                                        NodeReady{"n1", "8d7c", {}, 0, {}, "aarch64"},
                                        NodeReady{"n1", "8d7c", {}, 0, {}, "", "", 8},
                                        NodeGo{{"x"}, "10.0.0.1", true},
                                        NodeEnd{137, "", "", 9},
                                        NodeEnd{0, "", "", 0, true},
                                        NodeTook(),
                                        NodeTook{std::int64_t{1} << 40U},
                                        NodeEnd{255, "rank 3 failed\n  \"why\"\n"}};
  for (const HostMessage& message : all) EXPECT_EQ(passed(message), message) << kind_name(kind_of(message));
}

NodeJob some_check() {
  NodeJob job = some_job();
  job.checks = true;
  return job;
}

TEST(HostMessages, WhatACheckSaysPasses) {
  EXPECT_EQ(passed_as(some_check()), some_check());
  NodeReady ready{"n1", "8d7c", {"10.0.0.1"}, 4711, {"eth0"}, R"({"machine":"x86_64"})"};
  EXPECT_EQ(passed_as(ready), ready);
  ready.facts.assign(longest_facts, '"');
  EXPECT_EQ(passed_as(ready), ready);
  ready.facts += '"';
  EXPECT_EQ(passed_as(ready).facts, "") << "half of it would be of no use";
  ReachQuestion question{{"10.0.0.1"}, 1, "t", {{"n1", 65'535, "t-1"}, {"fd00::1", 0, ""}}};
  EXPECT_EQ(passed_as(question), question);
  question.targets.resize(most_reach_targets + 1);
  EXPECT_EQ(fault_of(kind_of(question), body_of(question)), "a frame reach without a valid \"targets\"");
}

TEST(HostMessages, MembersThatAnOlderVersionDoesNotWriteMayBeMissing) {
  const auto read = [](MessageKind kind, std::string_view body) { return *parse_body(kind, body); };
  EXPECT_EQ(std::get<ReachQuestion>(read(4, R"({"addresses":["a"],"port":1,"token":"t"})")),
            (ReachQuestion{{"a"}, 1, "t", {}}));
  EXPECT_FALSE(std::get<NodeGo>(read(6, R"({"args":[],"meeting":""})")).input);
  EXPECT_EQ(std::get<NodeEnd>(read(11, R"({"exit_code":1,"report":"","json":""})")).signal, 0);
  EXPECT_EQ(fault_of(kind_of(NodeTook()), R"({"bytes":-1})"), "a frame took without a valid \"bytes\"");
  const auto ready = read(2, R"({"hostname":"n1","boot_id":"","addresses":[],"interfaces":[],"port":0})");
  EXPECT_EQ(std::get<NodeReady>(ready).facts, "");
  EXPECT_EQ(std::get<NodeReady>(ready).workers, 0);
  EXPECT_FALSE(std::get<NodeJob>(read(1, changed_job(R"("checks":false,)", ""))).checks);
  EXPECT_THAT(fault_of(1, changed_job(R"("checks":false)", R"("checks":1)")), HasSubstr("\"checks\""));
}

TEST(HostMessages, ArgumentsAndVariablesAreAnyBytes) {
  std::string bytes;
  for (int byte = 1; byte < 256; ++byte) bytes += static_cast<char>(byte);
  NodeJob job = some_job();
  job.args = {bytes, "", "\xff", "\xc3", "caf\xc3\xa9", "\"", "\\", "{\"b64\": \"\"}"};
  for (int byte = 1; byte < 256; ++byte) job.args.emplace_back(1, static_cast<char>(byte));
  job.env = {"ALL=" + bytes};
  job.folder = "/home/" + bytes;
  EXPECT_EQ(passed_as(job), job);
  EXPECT_EQ(passed_as(NodeGo{job.args}).args, job.args);
  EXPECT_EQ(passed_as(NodeEnd{1, bytes + '\0'}).report, bytes + '\0');
}

TEST(HostMessages, TheMachineNeedNotBeTold) {
  const auto read =
      parse_body(kind_of(NodeReady()), R"({"hostname":"n1","boot_id":"","addresses":[],"interfaces":[],"port":0})");
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<NodeReady>(*read).machine, "");
  EXPECT_THAT(fault_of(kind_of(NodeReady()),
                       R"({"hostname":"n1","boot_id":"","addresses":[],"interfaces":[],"port":0,"machine":7})"),
              HasSubstr("\"machine\""));
}

TEST(HostMessages, AFileIsWithinItsFolder) {
  for (const char* path : {"a", "a/b", "...", ".a/..b", "a b/\xff"}) {
    EXPECT_TRUE(is_inner_path(path)) << path;
    EXPECT_EQ(passed_as(NodeFile{path, true, "", ""}).name, path);
  }
  for (const char* path : {"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/.", "./a"}) {
    EXPECT_FALSE(is_inner_path(path)) << path;
    const NodeFile file{path, true, "", ""};
    EXPECT_EQ(fault_of(kind_of(file), body_of(file)), "a frame file without a valid \"name\"") << path;
  }
}

TEST(HostMessages, WordsWithAZeroByteAreRefused) {
  NodeJob job = some_job();
  job.env = {std::string("A=\0", 3)};
  EXPECT_THAT(fault_of(kind_of(job), body_of(job)), HasSubstr("\"env\""));
  EXPECT_THAT(fault_of(kind_of(job), changed_job("train.py", R"(train\u0000.py)")), HasSubstr("\"args\""));
}

// One-byte texts that are not ASCII grow most when they are written.
TEST(HostMessages, WhatIsWithinItsLimitsHasABodyWithinItsOwn) {
  const NodeGo go{Words(1'000, "\xff")};
  EXPECT_LE(body_of(go).size(), counted_size(go.args) * 3 / 2 + 100);
  EXPECT_LE(body_of(NodeGo{{std::string(10'000, '\n')}}).size(), 15'000U);
  EXPECT_LE((longest_words + longest_environment) * 3 / 2 + 10'000, longest_body);
  EXPECT_LE(longest_report * 3 / 2 + 100, longest_body);
}

TEST(HostMessages, TextsForPeopleAreCutToOneSafeLine) {
  EXPECT_EQ(passed_as(NodeCannot{"no\nway \x1b[31m", 1}).reason, "no way  [31m");
  EXPECT_EQ(passed_as(NodeCannot{std::string(5'000, 'x'), 1}).reason.size(), 1'000U);
  EXPECT_EQ(passed_as(ReachAnswer{{std::string(5'000, 'x')}}).faults[0].size(), 1'000U);
  EXPECT_EQ(passed_as(NodeEnd{1, std::string(longest_report + 1, 'x')}).report.size(), longest_report);
  const auto read = parse_body(kind_of(NodeCannot()), R"({"reason":"a\u001bb","exit_code":1})");
  EXPECT_EQ(std::get<NodeCannot>(*read).reason, "a b") << "from another side, too";
}

TEST(HostMessages, NumbersAreBounded) {
  const auto fault = [](std::string_view from, std::string_view to) { return fault_of(1, changed_job(from, to)); };
  EXPECT_EQ(fault("\"node\":3", "\"node\":7"), "");
  EXPECT_EQ(fault("\"node\":3", "\"node\":8"), "a frame job without a valid \"node\"");
  EXPECT_THAT(fault("\"node\":3", "\"node\":-1"), HasSubstr("\"node\""));
  EXPECT_THAT(fault("\"nodes\":8", "\"nodes\":0"), HasSubstr("\"nodes\""));
  EXPECT_EQ(fault("\"nodes\":8", "\"nodes\":1000000"), "");
  EXPECT_THAT(fault("\"nodes\":8", "\"nodes\":1000001"), HasSubstr("\"nodes\""));
  EXPECT_EQ(fault("\"umask\":23", "\"umask\":511"), "");
  EXPECT_THAT(fault("\"umask\":23", "\"umask\":512"), HasSubstr("\"umask\""));
  for (const char* good : {"1000", "86400000"}) EXPECT_EQ(fault("20000", good), "");
  for (const char* bad : {"999", "86400001", "1e4", "99999999999999999999", "\"20000\"", "null"})
    EXPECT_THAT(fault("20000", bad), HasSubstr("\"silence_ms\"")) << bad;
  for (const int bad : {0, -1, 65}) EXPECT_NE(fault_of(7, body_of(NodeSignal{bad})), "");
  for (const int bad : {-1, 256}) EXPECT_NE(fault_of(11, body_of(NodeEnd{bad, ""})), "");
  for (const int bad : {-1, 0, 256}) EXPECT_NE(fault_of(3, body_of(NodeCannot{"x", bad})), "");
  EXPECT_THAT(fault_of(4, R"({"addresses":[],"port":65536})"), HasSubstr("\"port\""));
}

TEST(HostMessages, ListsAreBounded) {
  EXPECT_EQ(passed_as(ReachQuestion{Words(256, "10.0.0.1"), 1}).addresses.size(), 256U);
  EXPECT_THAT(fault_of(4, body_of(ReachQuestion{Words(257, "10.0.0.1"), 1})), HasSubstr("\"addresses\""));
  EXPECT_THAT(fault_of(2, body_of(NodeReady{"n", "b", Words(257), 1})), HasSubstr("\"addresses\""));
  EXPECT_THAT(fault_of(5, body_of(ReachAnswer{Words(257)})), HasSubstr("\"faults\""));
}

TEST(HostMessages, WhatIsNoMessageIsOneLine) {
  EXPECT_EQ(fault_of(10, ""), "a frame beat that is not JSON");
  EXPECT_EQ(fault_of(1, "[]"), "a frame job that is not JSON");
  EXPECT_EQ(fault_of(1, "{}"), "a frame job without a valid \"nodes\"");
  EXPECT_EQ(fault_of(10, std::string(9, '[') + std::string(9, ']')), "a frame beat that is not JSON");
  EXPECT_EQ(fault_of(8, ""), "a frame output without its stream");
  EXPECT_EQ(fault_of(8, "\x07x"), "a frame output of an unknown stream 7");
  for (const char* args : {"{}", "[1]", "[null]", "[[]]", R"([{"b64":1}])", R"([{"b64":"A"}])", R"([{"b64":"AA=="}])",
                           R"([{"B64":"QQ=="}])", "\"x\"", "[\"\xff\"]"})
    EXPECT_NE(fault_of(6, std::string("{\"args\":") + args + R"(,"meeting":""})"), "") << args;
  EXPECT_EQ(fault_of(6, R"({"args":[{"b64":"QQ=="},"\u00e9"],"meeting":"","later":{"x":[{"y":1}]}})"), "");
}

TEST(HostMessages, EachMemberIsNeeded) {
  for (const char* name : {"node", "nodes", "args", "env", "folder", "umask", "silence_ms"}) {
    const std::string quoted = '"' + std::string(name) + '"';
    EXPECT_EQ(fault_of(1, changed_job(quoted + ":", "\"other\":")), "a frame job without a valid " + quoted);
  }
  for (const MessageKind kind : {2U, 3U, 4U, 5U, 6U, 7U, 11U, 13U, 14U, 15U, 16U})
    EXPECT_NE(fault_of(kind, "{}"), "") << kind;
}

}  // namespace launch::host_messages_test
