#include "launch/core/verdict/traceback.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::traceback_test {

using Lines = std::vector<std::string>;

constexpr std::string_view plain = R"(Traceback (most recent call last):
  File "train.py", line 9, in <module>
    main()
  File "train.py", line 3, in main
    raise ValueError("bad batch")
ValueError: bad batch
)";
const Lines plain_frames = {R"(  File "train.py", line 9, in <module>)", "    main()",
                            R"(  File "train.py", line 3, in main)", R"(    raise ValueError("bad batch"))"};

std::string error_of(std::string_view text) {
  const auto found = last_traceback(text, 8);
  return found ? found->error : "none";
}

std::string with(std::string_view text) { return std::string(plain) + std::string(text); }

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

TEST(Traceback, FramesAndError) {
  EXPECT_EQ(last_traceback(plain, 8), (Traceback{plain_frames, "ValueError: bad batch"}));
}

TEST(Traceback, OnlyTheLastLinesOfTheFrames) {
  EXPECT_EQ(last_traceback(plain, 2)->frames, Lines(plain_frames.begin() + 2, plain_frames.end()));
  EXPECT_EQ(last_traceback(plain, 0)->frames, Lines{});
  EXPECT_EQ(last_traceback(plain, 0)->error, "ValueError: bad batch");
}

TEST(Traceback, NoneInOtherText) {
  for (const char* text :
       {"", "\n", "\n\n", "epoch 1\nloss: 0.5\n", "ValueError: bad batch\n", "x\nValueError: y\n",
        "Traceback (most recent call last):\n", "  File \"x.py\", line 3, in f\n",
        "Traceback (most recent call last):\n  File \"x.py\", line 3, in f\n    f()\n", "  a\nError"})
    EXPECT_EQ(error_of(text), "none") << text;
}

TEST(Traceback, AfterOtherOutputAndWithoutALastNewline) {
  EXPECT_EQ(error_of("epoch 1\nepoch 2\n" + with("").substr(0, plain.size() - 1)), "ValueError: bad batch");
}

TEST(Traceback, FormsOfTheErrorLine) {
  for (const char* line : {"KeyboardInterrupt", "ValueError", "SystemExit: 3", "torch.cuda.OutOfMemoryError: CUDA out",
                           "__main__.f.<locals>.Own: x", "socket.timeout", "KeyError: 'k'", "Ünfall: x", "E: a: b"})
    EXPECT_EQ(error_of("Traceback (most recent call last):\n  File \"x.py\", line 3, in f\n" + std::string(line)),
              line);
}

// As PyTorch 2.11 writes it on each rank.
TEST(Traceback, WhatNcclSaidBelongsToTheError) {
  constexpr std::string_view text = R"([rank1]: Traceback (most recent call last):
[rank1]:   File "ddp.py", line 8, in <module>
[rank1]:     model = DDP(model)
[rank1]: torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:93, invalid usage, NCCL version 2.28.9
[rank1]: ncclInvalidUsage: This usually reflects invalid usage of NCCL library.
[rank1]: Last error:
[rank1]: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 60
[rank1]:[W1126 14:27:12 ProcessGroupNCCL.cpp:1575] Warning: destroy_process_group() was not called
)";
  EXPECT_EQ(error_of(text),
            "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:93, invalid usage, NCCL "
            "version 2.28.9; last error: Duplicate GPU detected : rank 1 and rank 0 "
            "both on CUDA device 60");
  const std::string cut(text.substr(0, text.find("[rank1]: Duplicate")));
  EXPECT_THAT(error_of(cut), testing::EndsWith("NCCL version 2.28.9"));
  EXPECT_EQ(error_of("Last error:\nx\n"), "none");
}

TEST(Traceback, MarkersAreLeftOut) {
  constexpr std::string_view text = R"(Traceback (most recent call last):
  File "t.py", line 5, in <module>
    f(
    ~^
        1,
        ^^
    ...<2 lines>...
    )
    ^
  File "t.py", line 2, in f
    return d["a"]["b"] ^ ~x
           ~~~~~~^^^^^
KeyError: 'b'
)";
  EXPECT_EQ(last_traceback(text, 99)->frames,
            (Lines{R"(  File "t.py", line 5, in <module>)", "    f(", "        1,", "    ...<2 lines>...", "    )",
                   R"(  File "t.py", line 2, in f)", R"(    return d["a"]["b"] ^ ~x)"}));
}

TEST(Traceback, RepeatedFrames) {
  constexpr std::string_view text = R"(Traceback (most recent call last):
  File "tb.py", line 6, in rec
    return rec(n-1) + 1
           ^^^^^^^^
  [Previous line repeated 996 more times]
RecursionError: maximum recursion depth exceeded
)";
  const auto found = last_traceback(text, 2);
  EXPECT_EQ(found->frames, (Lines{"    return rec(n-1) + 1", "  [Previous line repeated 996 more times]"}));
  EXPECT_EQ(found->error, "RecursionError: maximum recursion depth exceeded");
}

TEST(Traceback, SyntaxErrorsWithAndWithoutAHeader) {
  const std::string place = "  File \"bad.py\", line 1\n    def f(:\n          ^\nSyntaxError: invalid syntax\n";
  const Lines frames = {"  File \"bad.py\", line 1", "    def f(:", "          ^"};
  EXPECT_EQ(last_traceback(place, 8), (Traceback{frames, "SyntaxError: invalid syntax"}));
  EXPECT_EQ(last_traceback("one\ntwo\nthree\n" + place, 8), (Traceback{frames, "SyntaxError: invalid syntax"}));
  const std::string imported =
      "Traceback (most recent call last):\n  File \"t.py\", line 4, in <module>\n    import bad\n";
  EXPECT_EQ(last_traceback(imported + place, 3), (Traceback{frames, "SyntaxError: invalid syntax"}));
  EXPECT_EQ(error_of("one\ntwo\n  File \"bad.py\", line 1\nSeen: it\n"), "none");
}

TEST(Traceback, TheLastOfChainedOnesAndWhatLedToIt) {
  for (const char* between : {"During handling of the above exception, another exception occurred:",
                              "The above exception was the direct cause of the following exception:"}) {
    const std::string then = "\n" + std::string(between) + "\n\nTraceback (most recent call last):\n";
    const std::string text = with(then + "  File \"t.py\", line 1, in g\n    g()\nRuntimeError: outer\n");
    const Lines outer = {"  File \"t.py\", line 1, in g", "    g()"};
    EXPECT_EQ(last_traceback(text, 8),
              (Traceback{outer, "RuntimeError: outer", {"ValueError: bad batch (train.py:3 in main)"}, {}}));
    std::string many = text;
    for (int i = 0; i < 9; ++i) many += then + "  File \"u.py\", line 2\nOSError: " + std::to_string(i) + "\n";
    EXPECT_EQ(last_traceback(many, 8)->causes,
              (Lines{"ValueError: bad batch (train.py:3 in main)", "OSError: 3 (u.py:2)", "OSError: 4 (u.py:2)",
                     "OSError: 5 (u.py:2)", "OSError: 6 (u.py:2)", "OSError: 7 (u.py:2)"}));
    // The next one that is not chained begins again.
    EXPECT_EQ(last_traceback(text + std::string(plain), 8)->causes, Lines());
  }
}

constexpr std::string_view group = R"(  + Exception Group Traceback (most recent call last):
  |   File "tb.py", line 24, in <module>
  |     f()
  | ExceptionGroup: many (4 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "tb.py", line 21, in f
    |     try: inner(i)
    |          ^^^^^^^^
    | KeyError: 'k'
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "tb.py", line 4, in inner
    |     x = (a
    |         | b)
    | ValueError: bad batch
second line: of it
    |
    | The above exception was the direct cause of the following exception:
    |
    | Traceback (most recent call last):
    |   File "tb.py", line 9, in f
    |     g()
    | RuntimeError: second
    +---------------- 3 ----------------
    | TypeError: never raised
    +---------------- 4 ----------------
    | Exception Group Traceback (most recent call last):
    |   File "tb.py", line 12, in f
    |     raise it
    | ExceptionGroup: within (2 sub-exceptions)
    +-+---------------- 1 ----------------
      | OSError: a
      +---------------- 2 ----------------
      | OSError: b
      +------------------------------------
)";

TEST(Traceback, OfAGroupItselfAndItsMembers) {
  const Traceback whole = {
      {R"(  File "tb.py", line 24, in <module>)", "    f()"},
      "ExceptionGroup: many (4 sub-exceptions)",
      {},
      {"KeyError: 'k' (tb.py:21 in f)",
       "ValueError: bad batch (tb.py:4 in inner), which led to RuntimeError: second (tb.py:9 in f)",
       "TypeError: never raised", "ExceptionGroup: within (2 sub-exceptions) (tb.py:12 in f)", "  OSError: a",
       "  OSError: b"}};
  EXPECT_EQ(last_traceback(group, 8), whole);
  EXPECT_EQ(last_traceback(group.substr(0, group.find("  +-+")), 8)->members, Lines());
  EXPECT_EQ(last_traceback(std::string(group) + std::string(plain), 8),
            (Traceback{plain_frames, "ValueError: bad batch"}));
  EXPECT_EQ(last_traceback(std::string(group) + std::string(group), 8), whole);
  const std::string outer = std::string(group) +
                            "\nDuring handling of the above exception, another exception occurred:\n\n" +
                            std::string(plain);
  EXPECT_EQ(last_traceback(outer, 8)->causes, Lines{"ExceptionGroup: many (4 sub-exceptions) (tb.py:24 in <module>)"});
  EXPECT_EQ(last_traceback(outer, 8)->members, Lines());
  // Such lines mean nothing without a group.
  EXPECT_EQ(last_traceback(with("x\n  +-+---------------- 1 ----------------\n    | OSError: a\n"), 8)->members,
            Lines());
  std::string many(group.substr(0, group.find("    +---------------- 4")));
  for (int i = 0; i < 20; ++i) many += "    +---------------- 4 ----------------\n    | OSError: c\n";
  EXPECT_EQ(last_traceback(many, 8)->members.size(), 8U);
}

TEST(Traceback, AnExceptionOfSeveralLines) {
  EXPECT_EQ(error_of(with("second line: of it\n\nthird\na note\n")), "ValueError: bad batch");
  constexpr std::string_view start = "Traceback (most recent call last):\n  File \"t.py\", line 1, in g\n";
  EXPECT_EQ(error_of(std::string(start) + "RuntimeError: \n\n    An attempt has been made\n    to start\n"),
            "RuntimeError: An attempt has been made");
  EXPECT_EQ(error_of(std::string(start) + "RuntimeError: \nUnindented\nmore\n"), "RuntimeError: Unindented");
  EXPECT_EQ(error_of(std::string(start) + "RuntimeError: in loading Net:\n\tMissing key(s): \"w\".\n\tmore\n"),
            "RuntimeError: in loading Net: Missing key(s): \"w\".");
  EXPECT_EQ(error_of(std::string(start) + "RuntimeError: this:\n[W] a warning\n"), "RuntimeError: this:");
  std::string many(start);
  many += "RuntimeError: sizes\n";
  for (int i = 0; i < 500; ++i) many += "\tsize mismatch for w\n";
  EXPECT_EQ(error_of(many), "RuntimeError: sizes");
  for (int i = 0; i < 90; ++i) many += "frame #" + std::to_string(i) + ": c10::Error\n";
  EXPECT_EQ(error_of(many), "RuntimeError: sizes");
}

TEST(Traceback, OfADataLoaderTheOriginal) {
  constexpr std::string_view text = R"(Traceback (most recent call last):
  File "t.py", line 9, in <module>
    for x in loader:
ValueError: Caught ValueError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "torch/utils/data/_utils/worker.py", line 309, in _worker_loop
    data = fetcher.fetch(index)
  File "data.py", line 4, in __getitem__
    raise ValueError("bad batch")
ValueError: bad batch

)";
  EXPECT_EQ(last_traceback(text, 2),
            (Traceback{{R"(  File "data.py", line 4, in __getitem__)", R"(    raise ValueError("bad batch"))"},
                       "ValueError: bad batch"}));
}

TEST(Traceback, WhatPyTorchWritesTwice) {
  const std::string text = with("[rank1]: " + replaced(with("").substr(0, plain.size() - 1), "\n", "\n[rank1]: ") +
                                "\n[rank1]:[W1022 12:00:00.1 ProcessGroupNCCL.cpp:1250] Warning: not destroyed\n");
  EXPECT_EQ(last_traceback(text, 8), (Traceback{plain_frames, "ValueError: bad batch"}));
  const std::string cut = text.substr(text.rfind("[rank1]:   File \"train.py\", line 3"));
  EXPECT_EQ(last_traceback(cut, 8),
            (Traceback{Lines(plain_frames.begin() + 2, plain_frames.end()), "ValueError: bad batch"}));
  EXPECT_EQ(error_of(replaced(text, "ValueError", "[rank1]: ")), "none");
}

TEST(Traceback, ThePrefixOfALogIsLeftOut) {
  const std::string text = "E 12:00 | " + replaced(with("").substr(0, plain.size() - 1), "\n", "\nE 12:00 | ");
  EXPECT_EQ(last_traceback(text, 8), (Traceback{plain_frames, "ValueError: bad batch"}));
  EXPECT_EQ(last_traceback("    " + replaced(with(""), "\n", "\n    "), 8)->frames, plain_frames);
}

TEST(Traceback, BehindAnUnfinishedProgressBar) {
  EXPECT_EQ(last_traceback("\r  0%|    | 0/9\r 10%|#   | 1/9 [00:01<00:08]" + with(""), 8)->frames, plain_frames);
}

TEST(Traceback, CarriageReturnsAndColors) {
  EXPECT_EQ(last_traceback(replaced(with(""), "\n", "\r\n"), 8), last_traceback(plain, 8));
  const std::string colored = replaced(replaced(with(""), "\"train.py\"", "\x1b[35m\"train.py\"\x1b[0m"),
                                       "ValueError: ", "\x1b[1;35mValueError\x1b[0m: ");
  EXPECT_EQ(last_traceback(colored, 8)->error, "ValueError: bad batch");
  EXPECT_EQ(last_traceback(replaced(with(""), "main()", "ma\tin(\a)\x1b[31m"), 8)->frames[1], "    ma in( )");
}

TEST(Traceback, TheTextMayBeginWithinIt) {
  for (std::size_t at = 1; at < plain.rfind("  File"); ++at)
    EXPECT_EQ(error_of(plain.substr(at)), "ValueError: bad batch") << plain.substr(at);
  EXPECT_EQ(last_traceback(plain.substr(plain.find("line 9")), 8)->frames,
            Lines(plain_frames.begin() + 1, plain_frames.end()));
  EXPECT_EQ(error_of(plain.substr(plain.rfind("line 3"))), "none");
  // The stack that somebody printed is no exception's.
  EXPECT_EQ(error_of("k\n  File \"x.py\", line 3, in f\n    f()\nepoch: 1\n"), "none");
}

TEST(Traceback, ALineOfAnotherThreadInItsMidst) {
  const std::string text =
      replaced(with(""), "    main()\n", "    main()\n[W1022 c10.cpp:3] Warning: x\nhello, world\n");
  EXPECT_EQ(last_traceback(text, 8), (Traceback{plain_frames, "ValueError: bad batch"}));
}

TEST(Traceback, LittleOutputMayFollow) {
  std::string after;
  for (int i = 0; i < 64; ++i) after += "cleaning up\n\n";
  EXPECT_EQ(error_of(with(after)), "ValueError: bad batch");
  EXPECT_EQ(error_of(with(after + "one more\n")), "none");
  EXPECT_EQ(error_of(with(after + "one more\n" + with(""))), "ValueError: bad batch");
  EXPECT_EQ(error_of(with(after + "one more\nTraceback (most recent call last):\n  File \"x.py\", line 1, in f\n")),
            "none");
}

TEST(Traceback, AnUnfinishedOneLeavesTheOneBefore) {
  EXPECT_EQ(error_of(with("Traceback (most recent call last):\n  File \"x.py\", line 1, in f\n")),
            "ValueError: bad batch");
  std::string stuck = "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\n";
  for (int i = 0; i < 70; ++i) stuck += "step " + std::to_string(i) + "\n";
  EXPECT_EQ(error_of(stuck + "loss: 3\n"), "none");
}

TEST(Traceback, WhatPythonIgnoredDoesNotCount) {
  const std::string ignored =
      "Exception ignored in: <function A.__del__ at 0x7f5a>\nTraceback (most recent call last):\n"
      "  File \"x.py\", line 1, in __del__\nAssertionError: can only test a child process\n";
  EXPECT_EQ(error_of(ignored), "none");
  EXPECT_EQ(error_of(with(ignored + ignored)), "ValueError: bad batch");
  EXPECT_EQ(error_of(ignored + with("")), "ValueError: bad batch");
  const std::string chained =
      ignored + "\nDuring handling of the above exception, another exception occurred:\n\n" + with("");
  EXPECT_EQ(error_of(chained), "none");
  EXPECT_EQ(error_of("--- Logging error ---\n" + with("Call stack:\n  File \"x.py\", line 3, in f\nMessage: 'm'\n")),
            "none");
}

// As CuPy's destructors do after an error of the GPU.
TEST(Traceback, WhatCythonPrintsBeforeItIgnoresItDoesNotCountEither) {
  const std::string noise =
      "Traceback (most recent call last):\n  File \"driver.pyx\", line 247, in moduleUnload\nDriverError: illegal\n";
  const std::string ignored = "Exception ignored in: 'Module.__dealloc__'\n" + noise;
  const std::string of_rank = replaced(replaced(noise, "  File", "[rank1]:   File"), "Driver", "[rank1]: Driver");
  EXPECT_EQ(error_of(with(noise + ignored)), "ValueError: bad batch");
  EXPECT_EQ(error_of(with("[rank1]: " + of_rank + ignored)), "ValueError: bad batch");
  EXPECT_EQ(error_of(with(noise + ignored + noise + ignored)), "ValueError: bad batch");
  EXPECT_EQ(error_of(noise + ignored), "DriverError: illegal");
  const std::string elsewhere = replaced(ignored, "line 247", "line 3");
  EXPECT_EQ(error_of(with(noise + elsewhere)), "DriverError: illegal");
}

TEST(Traceback, LongLinesAreCutBetweenCharacters) {
  std::string text = "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\n    " + std::string(999, 'x') +
                     "\nValueError: ";
  for (int i = 0; i < 999; ++i) text += "\u20ac";
  const auto found = last_traceback(text, 8);
  EXPECT_EQ(found->frames[1].size(), 300);
  EXPECT_EQ(found->error.size(), 300);  // 12 and 96 times 3
  EXPECT_EQ(error_of(replaced(text, "ValueError", "ValueErrors")).size(), 298);
}

TEST(Traceback, LargeInputTakesLinearTime) {
  std::string text = std::string(1 << 20, 'p') + "Traceback (most recent call last):\n";
  for (int i = 0; i < 200000; ++i) text += "p\n  File\n";
  EXPECT_EQ(error_of(text), "none");
  text.clear();
  for (int i = 0; i < 50000; ++i) text += plain;
  EXPECT_EQ(last_traceback(text, 1 << 30)->frames, plain_frames);
  EXPECT_EQ(error_of(std::string(4 << 20, '\x1b')), "none");
}

}  // namespace launch::traceback_test
