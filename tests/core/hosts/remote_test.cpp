#include "launch/core/hosts/remote.hpp"

#include <chrono>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::remote_test {

using namespace std::chrono_literals;

constexpr Time begin{1h};

NodeJob job_with(std::chrono::milliseconds silence = 15s, bool keeps_output = false) {
  NodeJob job;
  job.keeps_output = keeps_output;
  job.folder = "/work";
  job.silence_ms = silence.count();
  return job;
}

// The actions in their order: t:KIND told, C check, R reach, S start, s:N signalled, F fed, D its files removed, c:N a
// peer connected, f:N fed, L left.
std::string order(const RemoteActions& actions) {
  std::string text;
  for (const RemoteAction& action : actions) {
    if (!text.empty()) text += ' ';
    if (const auto* told = std::get_if<TellHead>(&action)) text.append("t:").append(kind_name(kind_of(told->message)));
    if (std::holds_alternative<CheckNode>(action)) text += 'C';
    if (std::holds_alternative<TryToReach>(action)) text += 'R';
    if (std::holds_alternative<RunNode>(action)) text += 'S';
    if (const auto* signal = std::get_if<SignalNode>(&action)) text += "s:" + std::to_string(signal->number);
    if (std::holds_alternative<FeedNode>(action)) text += 'F';
    if (const auto* peer = std::get_if<ConnectPeer>(&action)) text += "c:" + std::to_string(peer->node);
    if (const auto* peer = std::get_if<FeedPeer>(&action)) text += "f:" + std::to_string(peer->node);
    if (std::holds_alternative<RemoveOutput>(action)) text += 'D';
    if (std::holds_alternative<LeaveRemote>(action)) text += 'L';
  }
  return text;
}

enum State {
  waiting,
  checking,
  ready,
  unfit,
  running,
  headless,  // its node still runs
  over,
  all_states
};

Remote remote_in(State state, NodeJob job = job_with()) {
  Remote remote;
  EXPECT_EQ(order(remote.start(begin)), "");
  if (state == waiting) return remote;
  EXPECT_EQ(order(remote.on_message(std::move(job), begin)), "C");
  if (state == checking) return remote;
  if (state == unfit) {
    EXPECT_EQ(order(remote.on_checked(NodeCannot{"no", 2})), "t:cannot");
    return remote;
  }
  EXPECT_EQ(order(remote.on_checked(NodeReady{})), "t:ready");
  if (state == ready) return remote;
  EXPECT_EQ(order(remote.on_message(NodeGo{{"a"}}, begin)), "S");
  if (state == running) return remote;
  if (state == headless) {
    EXPECT_EQ(order(remote.on_lost()), "s:15");
    return remote;
  }
  EXPECT_EQ(order(remote.on_end({})), "t:end L");
  return remote;
}

// ---- each state

struct Row {
  HostMessage message;
  const char* expected[all_states];
};

TEST(Remote, EachMessageInEachState) {
  const Row rows[] = {
      // message                  waiting checking ready unfit running headless over
      {job_with(), {"C", "L", "L", "L", "s:15", "", ""}},
      {ReachQuestion{}, {"L", "L", "R", "L", "s:15", "", ""}},
      {NodeGo{}, {"L", "L", "S", "L", "s:15", "", ""}},
      {NodeSignal{SIGUSR1}, {"L", "L", "L", "L", "s:10", "", ""}},
      {NodeInput{"x"}, {"L", "L", "L", "L", "F", "", ""}},
      {HostBeat{}, {"", "", "", "", "", "", ""}},
      {NodeReady{}, {"L", "L", "L", "L", "s:15", "", ""}},
      {NodeCannot{}, {"L", "L", "L", "L", "s:15", "", ""}},
      {ReachAnswer{}, {"L", "L", "L", "L", "s:15", "", ""}},
      {NodeOutput{}, {"L", "L", "L", "L", "s:15", "", ""}},
      {NodeEnd{}, {"L", "L", "L", "L", "s:15", "", ""}},
      {NodeShown{}, {"L", "L", "L", "L", "s:15", "", ""}},
      {NodeFile{}, {"L", "L", "L", "L", "s:15", "", ""}},
      {NodeTook{}, {"L", "L", "L", "L", "s:15", "", ""}},
  };
  for (const Row& row : rows)
    for (int state = 0; state < all_states; ++state)
      EXPECT_EQ(order(remote_in(static_cast<State>(state)).on_message(row.message, begin)), row.expected[state])
          << kind_name(kind_of(row.message)) << " in state " << state;
}

TEST(Remote, EverythingElseInEachState) {
  for (int i = 0; i < all_states; ++i) {
    const auto state = static_cast<State>(i);
    const bool runs = state == running || state == headless;
    EXPECT_EQ(order(remote_in(state).on_lost()), state == running                     ? "s:15"
                                                 : state == headless || state == over ? ""
                                                                                      : "L")
        << i;
    EXPECT_EQ(order(remote_in(state).on_signal(SIGINT)), runs ? "s:2" : state == over ? "" : "L") << i;
    EXPECT_EQ(order(remote_in(state).on_checked(NodeReady{})), state == checking ? "t:ready" : "") << i;
    EXPECT_EQ(order(remote_in(state).on_reach({})), state == ready ? "t:reached" : "") << i;
    EXPECT_EQ(order(remote_in(state).on_output({false, "x"})), state == running ? "t:output" : "") << i;
    EXPECT_EQ(order(remote_in(state).on_taken(7)), state == running ? "t:took" : "") << i;
    EXPECT_EQ(order(remote_in(state).on_file({"log", true, "x", ""})), state == running ? "t:file" : "") << i;
    EXPECT_EQ(order(remote_in(state).on_files({})), state == running ? "t:end" : "") << i;
    EXPECT_EQ(order(remote_in(state).on_end({})), state == running ? "t:end L" : state == headless ? "L" : "") << i;
  }
}

// ---- what goes through

TEST(Remote, TheEndOfItsNodeIsToldBeforeItsFilesAndAfterThem) {
  Remote remote = remote_in(State::running);
  const NodeEnd end{3, "why", "{}"};
  NodeEnd first = end;
  first.files_follow = true;
  EXPECT_EQ(std::get<TellHead>(remote.on_files(end).at(0)).message, HostMessage(first));
  EXPECT_EQ(order(remote.on_file({"log", true, "x", ""})), "t:file");
  EXPECT_EQ(std::get<TellHead>(remote.on_end(end).at(0)).message, HostMessage(end));
}

TEST(Remote, WhatIsSaidArrivesAsItIs) {
  Remote remote;
  remote.start(begin);
  NodeJob job = job_with();
  job.env = {"A=1"};
  EXPECT_EQ(std::get<CheckNode>(remote.on_message(job, begin).at(0)).job, job);
  NodeReady answer;
  answer.port = 7;
  EXPECT_EQ(std::get<TellHead>(remote.on_checked(answer).at(0)).message, HostMessage(answer));
  const ReachQuestion question{{"10.0.0.1"}, 7, "t"};
  EXPECT_EQ(std::get<TryToReach>(remote.on_message(question, begin).at(0)).question, question);
  EXPECT_EQ(std::get<TellHead>(remote.on_reach({{"refused"}}).at(0)).message, HostMessage(ReachAnswer{{"refused"}}));
  EXPECT_EQ(std::get<RunNode>(remote.on_message(NodeGo{{"a", "b"}}, begin).at(0)).args,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(std::get<FeedNode>(remote.on_message(NodeInput{"in"}, begin).at(0)).bytes, "in");
  EXPECT_EQ(std::get<TellHead>(remote.on_output({true, "e"}).at(0)).message, HostMessage(NodeOutput{true, "e"}));
  const NodeEnd end{7, "report", "{}"};
  EXPECT_EQ(std::get<TellHead>(remote.on_end(end).at(0)).message, HostMessage(end));
}

TEST(Remote, ANodeThatIsToldToEndLearnsWhetherTheHeadIsLost) {
  Remote lost = remote_in(running);
  EXPECT_TRUE(std::get<SignalNode>(lost.on_lost().back()).lost);
  Remote told = remote_in(running);
  EXPECT_FALSE(std::get<SignalNode>(told.on_message(NodeSignal{SIGTERM}, begin).at(0)).lost);
  EXPECT_FALSE(std::get<SignalNode>(told.on_signal(SIGTERM).at(0)).lost);
}

TEST(Remote, InputIsLeftOpenOnlyIfItFollows) {
  for (const bool input : {false, true}) {
    Remote remote = remote_in(ready);
    NodeGo go;
    go.input = input;
    EXPECT_EQ(std::get<RunNode>(remote.on_message(go, begin).at(0)).input, input);
  }
}

TEST(Remote, TheAddressesMayBeAskedForAgain) {
  Remote remote = remote_in(ready);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(order(remote.on_message(ReachQuestion{}, begin)), "R");
    EXPECT_EQ(order(remote.on_reach({})), "t:reached");
  }
}

TEST(Remote, WhoHasSaidNoStartsNothing) {
  Remote remote = remote_in(unfit);
  EXPECT_EQ(order(remote.on_message(HostBeat{}, begin)), "");
  EXPECT_EQ(order(remote.on_message(NodeGo{}, begin)), "L");
  EXPECT_EQ(order(remote.on_message(NodeGo{}, begin)), "");
}

TEST(Remote, WhenTheHeadIsGoneItLeavesAfterItsNodeAndSaysNothing) {
  Remote remote = remote_in(headless);
  EXPECT_EQ(order(remote.on_lost()), "") << "the node is told once";
  EXPECT_EQ(order(remote.on_output({false, "x"})), "");
  EXPECT_EQ(remote.deadline(), never);
  EXPECT_EQ(order(remote.on_deadline(begin + 1h)), "");
  EXPECT_EQ(order(remote.on_signal(SIGTERM)), "s:15") << "somebody here may still be impatient";
  EXPECT_EQ(order(remote.on_end({})), "L");
  EXPECT_EQ(order(remote.on_end({})), "");
}

// ---- files of the node's output

Remote remote_that_has_told(Time now = begin) {
  Remote remote = remote_in(running, job_with(15s, true));
  remote.on_message(HostBeat{}, now);
  EXPECT_EQ(order(remote.on_end({3, "", ""})), "t:end") << "it waits for the head's word";
  return remote;
}

TEST(Remote, FilesOfOutputAreRemovedOnceTheHeadHasShownAll) {
  Remote remote = remote_that_has_told();
  for (const HostMessage& late : std::vector<HostMessage>{HostBeat{}, NodeSignal{SIGINT}, NodeInput{"x"}})
    EXPECT_EQ(order(remote.on_message(late, begin)), "") << kind_name(kind_of(late));
  EXPECT_EQ(order(remote.on_message(NodeShown{}, begin)), "D L");
  EXPECT_EQ(order(remote.on_message(NodeShown{}, begin)), "");
  EXPECT_EQ(order(remote.on_lost()), "");
}

TEST(Remote, FilesOfOutputStayIfTheHeadHasGoneBefore) {
  EXPECT_EQ(order(remote_that_has_told().on_lost()), "L");
  Remote silent = remote_that_has_told();
  silent.on_deadline(begin + 14s);
  EXPECT_EQ(order(silent.on_deadline(begin + 15s)), "L");
  EXPECT_EQ(order(remote_that_has_told().on_signal(SIGTERM)), "L");
  Remote headless_one = remote_in(headless, job_with(15s, true));
  EXPECT_EQ(order(headless_one.on_end({})), "L");
  EXPECT_EQ(order(headless_one.on_message(NodeShown{}, begin)), "");
}

TEST(Remote, WhileItWaitsForTheHeadBothGiveSignsOfLife) {
  Remote remote = remote_that_has_told(begin + 3s);
  EXPECT_EQ(remote.deadline(), begin + 5s);
  EXPECT_EQ(order(remote.on_deadline(begin + 5s)), "t:beat");
  remote.on_message(HostBeat{}, begin + 8s);
  EXPECT_EQ(order(remote.on_deadline(begin + 20s)), "t:beat");
  EXPECT_EQ(order(remote.on_deadline(begin + 23s)), "L");
}

// ---- time

TEST(Remote, SilenceOfTheHeadIsItsEnd) {
  for (int i = checking; i <= running; ++i) {
    Remote remote = remote_in(static_cast<State>(i));
    EXPECT_EQ(order(remote.on_deadline(begin + 15s - 1ns)), "t:beat") << i;
    EXPECT_EQ(order(remote.on_deadline(begin + 15s)), i == running ? "s:15" : "L") << i;
    EXPECT_EQ(remote.deadline(), never);
  }
}

TEST(Remote, BeforeTheJobItIsPatientForAMinute) {
  Remote remote = remote_in(waiting);
  EXPECT_EQ(order(remote.on_deadline(begin + 59s)), "t:beat");
  EXPECT_EQ(remote.deadline(), begin + 60s);
  EXPECT_EQ(order(remote.on_deadline(begin + 60s)), "L");
}

TEST(Remote, TheJobSaysHowLongTheSilenceMayBeWhileItsNodeRuns) {
  Remote remote = remote_in(running, job_with(2s));
  EXPECT_EQ(remote.deadline(), begin + Duration(2s) / 3) << "beats are as much more frequent";
  EXPECT_EQ(order(remote.on_deadline(begin + 2s - 1ns)), "t:beat");
  EXPECT_EQ(order(remote.on_deadline(begin + 2s)), "s:15");
  for (const State state : {checking, ready, unfit}) {
    Remote early = remote_in(state, job_with(2s));
    EXPECT_EQ(order(early.on_deadline(begin + 15s - 1ns)), "t:beat") << "a check may wait for a file system";
    EXPECT_EQ(order(early.on_deadline(begin + 15s)), "L");
  }
}

TEST(Remote, ARemoteThatHasSleptReadsFirstWhatHasComeMeanwhile) {
  Remote heard = remote_in(running, job_with(4s));
  EXPECT_EQ(order(heard.on_deadline(begin + 60s)), "t:beat");
  heard.on_message(HostBeat{}, begin + 60s);
  EXPECT_EQ(order(heard.on_deadline(begin + 64s - 1ns)), "t:beat");
  Remote lost = remote_in(running, job_with(4s));
  lost.on_deadline(begin + 5s);
  EXPECT_EQ(lost.deadline(), begin + 5s + 250ms);
  EXPECT_EQ(order(lost.on_deadline(begin + 5s + 250ms)), "s:15");
  Remote late = remote_in(running, job_with(4s));
  EXPECT_EQ(order(late.on_deadline(begin + 3s)), "t:beat");
  EXPECT_EQ(order(late.on_deadline(begin + 5s - 1ns)), "s:15") << "that was no sleep";
}

TEST(Remote, AnyMessageIsASignOfLife) {
  Remote remote = remote_in(running);
  remote.on_message(HostBeat{}, begin + 14s);
  EXPECT_EQ(order(remote.on_deadline(begin + 28s)), "t:beat");
  remote.on_message(NodeSignal{SIGUSR2}, begin + 28s);
  EXPECT_EQ(order(remote.on_deadline(begin + 42s)), "t:beat");
  EXPECT_EQ(order(remote.on_deadline(begin + 43s)), "s:15");
}

TEST(Remote, ItBeatsEach5SecondsInEveryState) {
  for (int i = waiting; i <= running; ++i) {
    Remote remote = remote_in(static_cast<State>(i));
    Time now = begin;
    for (int beats = 0; beats < 5; ++beats) {
      EXPECT_EQ(remote.deadline(), now + 5s) << i;
      EXPECT_EQ(order(remote.on_deadline(now + 5s - 1ns)), "") << i;
      now += 5s;
      EXPECT_EQ(order(remote.on_deadline(now)), "t:beat") << i;
      remote.on_message(HostBeat{}, now);
    }
  }
  EXPECT_EQ(order(remote_in(over).on_deadline(begin + 5s)), "") << "all has been told";
}

// Its words may be held up for ever if the network is gone; then it must not wait for them.
TEST(Remote, WhoeverHasLostTheHeadForgetsItWhateverItDoes) {
  const auto forgets = [](const RemoteActions& actions) {
    return !actions.empty() && std::holds_alternative<ForgetHead>(actions.front());
  };
  Remote waiting;
  waiting.start(Time());
  EXPECT_TRUE(forgets(waiting.on_lost()));
  EXPECT_TRUE(waiting.on_lost().empty()) << "once";
  for (const bool silent : {true, false}) {
    Remote ended;
    ended.start(Time());
    NodeJob job;
    job.silence_ms = 15'000;
    ended.on_message(job, Time());
    ended.on_checked(NodeReady());
    ended.on_message(NodeGo(), Time());
    ended.on_end({0, "", ""});
    EXPECT_EQ(ended.deadline(), Time(std::chrono::seconds(15)));
    EXPECT_TRUE(forgets(silent ? ended.on_deadline(ended.deadline()) : ended.on_lost()));
    EXPECT_EQ(ended.deadline(), never);
  }
}

// ---- peers

TEST(Remote, ItHasTheConnectionsThatTheHeadWantsInEachState) {
  for (const State state : {waiting, checking, ready, unfit, running}) {
    Remote remote = remote_in(state);
    EXPECT_EQ(order(remote.on_message(StartPeer{7, {"ssh", "n7"}}, begin)), "c:7") << state;
    EXPECT_EQ(order(remote.on_message(PeerBytes{7, "abc"}, begin)), "f:7");
    EXPECT_EQ(order(remote.on_message(PeerBytes{8, "abc"}, begin)), "") << "it may have ended meanwhile";
    EXPECT_EQ(order(remote.on_peer_bytes(7, "abc")), "t:peer bytes");
    EXPECT_EQ(order(remote.on_peer_end({7})), "t:peer end");
    EXPECT_EQ(order(remote.on_message(StartPeer{7, {"ssh", "n7"}}, begin)), "c:7") << "again";
  }
}

TEST(Remote, APeerThatIsThereOrHasNoProgramMakesNoSense) {
  Remote remote = remote_in(ready);
  remote.on_message(StartPeer{7, {"ssh"}}, begin);
  EXPECT_EQ(order(remote.on_message(StartPeer{7, {"ssh"}}, begin)), "");
  EXPECT_EQ(order(remote.on_peer_end({7})), "L") << "as if the head were gone";
  Remote other = remote_in(ready);
  EXPECT_EQ(order(other.on_message(StartPeer{7, {}}, begin)), "L");
}

TEST(Remote, ItStaysForItsPeersWhenItsNodeHasEnded) {
  Remote remote = remote_in(running);
  remote.on_message(StartPeer{7, {"ssh"}}, begin);
  remote.on_message(StartPeer{8, {"ssh"}}, begin);
  EXPECT_EQ(order(remote.on_end({0, ""})), "t:end");
  EXPECT_EQ(order(remote.on_deadline(begin + 5s)), "t:beat");
  EXPECT_EQ(order(remote.on_message(PeerBytes{7, "x"}, begin + 5s)), "f:7");
  EXPECT_EQ(order(remote.on_peer_end({7})), "t:peer end");
  EXPECT_EQ(order(remote.on_peer_end({8})), "t:peer end L");
}

TEST(Remote, WithoutAHeadItWaitsUntilItsPeersHaveEnded) {
  for (const bool ended : {false, true}) {
    Remote remote = remote_in(running);
    remote.on_message(StartPeer{7, {"ssh"}}, begin);
    if (ended) remote.on_end({0, ""});
    EXPECT_EQ(order(remote.on_lost()), ended ? "" : "s:15");
    EXPECT_EQ(order(remote.on_peer_bytes(7, "x")), "");
    EXPECT_EQ(order(remote.on_peer_end({7})), ended ? "L" : "");
    EXPECT_EQ(order(remote.on_end({143, ""})), ended ? "" : "L");
  }
  Remote remote = remote_in(running);
  remote.on_message(StartPeer{7, {"ssh"}}, begin);
  remote.on_lost();
  EXPECT_EQ(order(remote.on_end({143, ""})), "");
  EXPECT_EQ(order(remote.on_peer_end({7})), "L");
}

}  // namespace launch::remote_test
