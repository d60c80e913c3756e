#include "launch/core/verdict/last_words.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::last_words_test {

constexpr const char* traceback =
    "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n    f()\nValueError: bad batch\n";

Failure with(const LastWords& words) {
  Failure failure;
  add_words(failure, words);
  return failure;
}

TEST(LastWords, TheWorkersOwnWordComesFirst) {
  const std::string json = R"({"message": {"message": "RuntimeError: out of memory", "extraInfo": {}}})";
  const Failure failure = with({json, traceback, "/logs/error.json", "/logs/stderr.log"});
  EXPECT_EQ(failure.detail, "RuntimeError: out of memory");
  EXPECT_EQ(failure.error_file, "/logs/error.json");
  EXPECT_EQ(failure.log_file, "/logs/stderr.log");
  EXPECT_TRUE(failure.frames.empty()) << "of another error";
}

TEST(LastWords, ElseItsTraceback) {
  const Failure failure = with({"", traceback, "/logs/error.json", ""});
  EXPECT_EQ(failure.detail, "ValueError: bad batch");
  EXPECT_EQ(failure.error_file, "");
  EXPECT_THAT(failure.frames, testing::SizeIs(2));
}

TEST(LastWords, ElseTheLastLinesAsATerminalShowsThem) {
  const Failure failure = with({"", "old\n1\n2\n 10%\r 20%\r\n\x1b[31mconfig is wrong\x1b[0m\n\n\n", "", ""});
  EXPECT_EQ(failure.detail, "");
  EXPECT_THAT(failure.last_lines, testing::ElementsAre("1", "2", " 20%", "config is wrong"));
  EXPECT_THAT(with({"", "\n\r\n \n", "", ""}).last_lines, testing::IsEmpty());
  EXPECT_THAT(with({"", "no end", "", ""}).last_lines, testing::ElementsAre("no end"));
  EXPECT_THAT(with({"", traceback, "", ""}).last_lines, testing::IsEmpty()) << "the traceback tells more";
}

TEST(LastWords, OtherExceptionsAndANoteGoWithThem) {
  const std::string chained = std::string(traceback) +
                              "\nDuring handling of the above exception, another exception occurred:\n\n"
                              "Traceback (most recent call last):\n  File \"t.py\", line 9, in g\nOSError: outer\n";
  const Failure failure = with({"", chained, "", "", "", note_of_full_disk("/logs/0/stderr.log")});
  EXPECT_EQ(failure.detail, "OSError: outer");
  EXPECT_THAT(failure.causes, testing::ElementsAre("ValueError: bad batch (t.py:3 in <module>)"));
  EXPECT_THAT(failure.note, testing::StartsWith("the file system of /logs/0/stderr.log is full"));
}

TEST(LastWords, AnExceptionOfCxxThatEndedTheWorkerComesAfterItsTraceback) {
  const std::string terminated = "terminate called after throwing an instance of 'c10::Error'\n  what():  no device\n";
  const Failure failure = with({"", traceback + terminated, "", ""});
  EXPECT_EQ(failure.detail, "c10::Error: no device");
  EXPECT_THAT(failure.causes, testing::ElementsAre("ValueError: bad batch"));
  EXPECT_THAT(with({"", terminated, "", ""}).causes, testing::IsEmpty());
}

TEST(LastWords, WhoWroteNothingToStandardErrorHasItsOutputNamed) {
  const Failure failure = with({"", "", "", "/logs/stderr.log", "/logs/stdout.log"});
  EXPECT_EQ(failure.log_file, "/logs/stdout.log");
  EXPECT_EQ(failure.note, "it wrote nothing to standard error; the log is its standard output");
  EXPECT_EQ(with({"", "x\n", "", "/logs/stderr.log", "/logs/stdout.log"}).log_file, "/logs/stderr.log");
  EXPECT_EQ(with({"", "", "", "/logs/stderr.log", ""}).log_file, "/logs/stderr.log") << "nor was there any output";
}

TEST(LastWords, ATimeOutAndAClosedConnectionSpeakOfOthers) {
  const auto says = [](const char* error) {
    LastWords words;
    words.errors = fmt::format("Traceback (most recent call last):\n  File \"t.py\", line 1, in f\n{}\n", error);
    return says_of_others(words);
  };
  EXPECT_EQ(says("RuntimeError: gloo: Timed out waiting 4000ms for recv operation"), SaysOfOthers::timed_out);
  EXPECT_EQ(says("RuntimeError: gloo: Connection closed by peer"), SaysOfOthers::lost_contact);
  EXPECT_EQ(says("OSError: timed out"), SaysOfOthers::lost_contact) << "of whom is not said";
  EXPECT_EQ(says("ValueError: bad batch"), SaysOfOthers::nothing);
}

TEST(LastWords, NothingIsMadeUp) {
  const Failure failure = with({"", "", "/logs/error.json", "/logs/stderr.log"});
  EXPECT_EQ(failure.detail, "");
  EXPECT_EQ(failure.error_file, "");
  EXPECT_EQ(failure.log_file, "/logs/stderr.log");
}

}  // namespace launch::last_words_test
