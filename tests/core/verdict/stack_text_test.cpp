#include "launch/core/verdict/stack_text.hpp"

#include <gtest/gtest.h>

namespace launch::stack_text_test {

using Lines = std::vector<std::string>;

constexpr std::string_view py_spy = R"(Process 6098: python3 t.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 6140 (idle): "Thread-1"
    Condition.wait (threading.py:327)
    waiter (t.py:3)
Thread 6098 (idle): "MainThread"
    clock_nanosleep (libc.so.6)
    inner_loop (t.py:7)
        Arguments:
            self: <A at 0x7f15ad945450>
    A.m.<locals>.<lambda> (my code (2)/t.py:11)
    <module> (t.py:13)
    0x7f15ade4524a (libc.so.6)
Thread 6141 (active): "QueueFeederThread"
    Queue.get (queue.py:171)
)";

constexpr std::string_view faulthandler = R"(Fatal Python error: Aborted

Thread 0x00007f15ad8866c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 327 in wait
  File "/tmp/t.py", line 3 in waiter

Current thread 0x00007f15ae5ecb80 (most recent call first):
  Garbage-collecting
  File "/tmp/t.py", line 5 in inner_loop
  File "/tmp/t.py", line 11 in <lambda>
  File "???", line ??? in ???
  File "/tmp/t.py", line 13 in <module>
  ...

Extension modules: numpy.core._multiarray_umath, torch._C (total: 2)
)";

TEST(StackText, TheMainThreadOfPySpy) {
  EXPECT_EQ(main_stack(py_spy),
            (Lines{"clock_nanosleep (libc.so.6)", "inner_loop (t.py:7)", "A.m.<locals>.<lambda> (my code (2)/t.py:11)",
                   "<module> (t.py:13)", "0x7f15ade4524a (libc.so.6)"}));
}

TEST(StackText, OfSeveralProcessesTheFirst) {
  EXPECT_EQ(main_stack("Thread 1 (idle): \"MainThread\"\n    f (x.py:1)\nProcess 2: python\n\n"
                       "Thread 2 (idle): \"MainThread\"\n    g (x.py:2)\n"),
            Lines{"f (x.py:1)"});
}

TEST(StackText, WithoutAMainThreadTheFirst) {
  EXPECT_EQ(main_stack("Thread 1 (active)\n    f (x.py:1)\nThread 2 (idle)\n    g (x.py:2)\n"), Lines{"f (x.py:1)"});
  EXPECT_EQ(main_stack("Thread 2 (idle): \"MainThread\"\nThread 1 (active+gil): \"T\"\n    f (x.py:1)\n"),
            Lines{"f (x.py:1)"});
}

TEST(StackText, TheLastThreadOfTheFaulthandler) {
  EXPECT_EQ(main_stack(faulthandler), (Lines{"inner_loop (/tmp/t.py:5)", "<lambda> (/tmp/t.py:11)",
                                             "??? (??"
                                             "?)",
                                             "<module> (/tmp/t.py:13)"}));
  EXPECT_EQ(main_stack("Current thread 0x1 (most recent call first):\n  File \"a.py\", line 1 in f\n\n"
                       "Thread 0x2 [python] (most recent call first):\n  File \"b.py\", line 2 in g\n"),
            Lines{"g (b.py:2)"});
  EXPECT_EQ(main_stack("Thread 0x1 (most recent call first):\n  File \"a.py\", line 1 in f\n\n"
                       "Current thread 0x2 (most recent call first):\n  <no Python frame>\n"),
            Lines{"f (a.py:1)"});
}

TEST(StackText, OtherLinesEndAThread) {
  EXPECT_EQ(main_stack("Thread 0x1 (most recent call first):\n  File \"a.py\", line 1 in f\nepoch 3\n"
                       "  File \"b.py\", line 1 in g\n\nCurrent thread's C stack trace (most recent call first):\n"
                       "  Binary file \"libc.so.6\", at abort+0x12 [0x7f]\n  File \"c.py\", line 1 in h\n"),
            Lines{"f (a.py:1)"});
}

TEST(StackText, CarriageReturnsColorsAndControls) {
  EXPECT_EQ(main_stack("Thread 1 (idle): \"\x1b[1mMainThread\x1b[0m\"\r\n    \x1b[32mf\x1b[0m (a\tb.py:1)\r\n"),
            Lines{"f (a b.py:1)"});
}

TEST(StackText, NoneInOtherText) {
  for (const char* text :
       {"", "\n", "Error: Failed to find python version", "Process 1: x\n", "    f (x.py:1)\n", "Thread\n", "Thread \n",
        "Thread 1 (idle)\n", "Thread pool\n    f (x.py:1)\n", "Thread 1 (idle)\n    f\n    (\n    )\n     (x)\n    \n",
        "Thread 0x1 (most recent call first):\n  File \"\n  File \", line \n  File \"a\", line 3\n"})
    EXPECT_EQ(main_stack(text), Lines{}) << text;
}

TEST(StackText, IsBounded) {
  std::string text = "Thread 1 (idle): \"MainThread\"\n    f (" + std::string(999, 'x') + ".py:1)\n";
  for (int i = 0; i < 999; ++i) text += "    f (x.py:1)\n";
  const Lines stack = main_stack(text);
  EXPECT_EQ(stack.size(), 256);
  EXPECT_EQ(stack[0].size(), 300);
}

TEST(StackText, TheSummaryIsTheInnermostThatTells) {
  const std::string reduce = "all_reduce (torch/distributed/distributed_c10d.py:2810)";
  EXPECT_EQ(stack_summary({reduce, "wrapper (torch/distributed/c10d_logger.py:83)", "<module> (t.py:13)"}), reduce);
  for (const char* little :
       {"wrapper (torch/distributed/c10d_logger.py:83)", "Module._call_impl (torch/nn/modules/module.py:1747)",
        "_wrapped_call_impl (module.py:1)", "no_grad.<locals>.inner (x.py:1)",
        "decorate_context (torch/_contextlib.py:1)", "A.m.<locals>.<lambda> (t.py:11)", "_fn (eval_frame.py:3)",
        "Condition.wait (threading.py:327)", "wait (/usr/lib/python3.11/threading.py:327)", "select (selectors.py:415)",
        "Queue.get (queue.py:171)", "readinto (socket.py:706)", "wait (multiprocessing/connection.py:930)",
        "poll (libc.so.6)", "c10d::wait(int, char) (libtorch.so)", "take_gil (Python/ceval_gil.h:243)",
        "0x7f15ade4524a (libc.so.6)", "rubbish"})
    EXPECT_EQ(stack_summary({little, little, reduce}), reduce) << little;
  for (const char* telling : {"f (my_queue.py:1)", "inner_loop (t.py:7)", "connection (redis/connection.py:1)",
                              "<module> (<string>:1)", "step (a.pyx:3)", "f (my code (2)/t.py:11)"})
    EXPECT_EQ(stack_summary({telling, reduce}), telling);
}

TEST(StackText, TheSummaryWhereNothingTells) {
  EXPECT_EQ(stack_summary({}), "");
  EXPECT_EQ(stack_summary({"poll (libc.so.6)", "Condition.wait (threading.py:327)"}), "poll (libc.so.6)");
  EXPECT_EQ(stack_summary({""}), "");
  EXPECT_EQ(stack_summary(main_stack(py_spy)), "inner_loop (t.py:7)");
  EXPECT_EQ(stack_summary(main_stack(faulthandler)), "inner_loop (/tmp/t.py:5)");
}

}  // namespace launch::stack_text_test
