#include "launch/core/verdict/flight_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::flight_record_test {

using testing::ElementsAre;
using namespace std::string_literals;

// The part of a record of PyTorch 2.13 that counts, with the number in some form.
std::string record(const std::string& number) {
  return "\x80\x02}q\0(X\x09\0\0\0pg_statusq\x0e}q\x0f(X\x01\0\0\0"s +
         "0q\x10}q\x11(X\x18\0\0\0last_enqueued_collective"s + number +
         "X\x17\0\0\0last_started_collectiveq\x13K\x02uus."s;
}

TEST(FlightRecord, ACountOfAnySize) {
  EXPECT_EQ(collectives_begun(record("q\x12K\x29")), 41);
  EXPECT_EQ(collectives_begun(record("q\x12M\x29\x01")), 297);
  EXPECT_EQ(collectives_begun(record("r\x12\0\0\0J\0\0\x01\0"s)), 65536);
  EXPECT_EQ(collectives_begun(record("q\x12\x8a\x05\0\0\0\0\x01"s)), std::int64_t{1} << 32);
}

TEST(FlightRecord, OtherBytesTellNothing) {
  EXPECT_FALSE(collectives_begun(""));
  EXPECT_FALSE(collectives_begun("last_enqueued_collective"));
  EXPECT_FALSE(collectives_begun(record("q\x12N"))) << "none";
  EXPECT_FALSE(collectives_begun(record("q\x12\x8a\x09"s + std::string(9, '\1')))) << "too large";
  const auto whole = record("q\x12\x8a\x08"s + std::string(8, '\xff'));
  EXPECT_FALSE(collectives_begun(whole)) << "below 0";
  EXPECT_FALSE(collectives_begun(record("q\x12J\xff\xff\xff\xff"))) << "-1: it has begun none";
  for (std::size_t size = 0; size < whole.size(); ++size) collectives_begun(std::string_view(whole).substr(0, size));
}

TEST(FlightRecord, IsWhereTheVariablesSay) {
  EXPECT_THAT(flight_record_paths({{"HOME", "/home/u"}}, GlobalRank(3)),
              ElementsAre("/home/u/.cache/torch/comm_lib_trace_rank_3", "/tmp/nccl_trace_rank_3"));
  EXPECT_THAT(flight_record_paths({{"XDG_CACHE_HOME", "/c"}}, GlobalRank(3)),
              ElementsAre("/c/torch/comm_lib_trace_rank_3", "/tmp/nccl_trace_rank_3"));
  EXPECT_THAT(flight_record_paths({{"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "/d/trace_"}}, GlobalRank(3)),
              ElementsAre("/d/trace_3"));
  EXPECT_THAT(flight_record_paths({{"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "/d/trace_"}, {"TORCH_FR_DUMP_TEMP_FILE", "/f"}},
                                  GlobalRank(3)),
              ElementsAre("/f3"));
}

TEST(FlightRecord, TakesThePlaceOfWhatRanksDidOtherwise) {
  EXPECT_THAT(with_collectives({{"sleeping (S)", {0, 1, 3}}, {"running (R)", {4}}}, {{0, 42}, {1, 1}, {4, 42}}),
              ElementsAre(RankGroup{"sleeping (S)", {3}}, RankGroup{"has begun 1 collective", {1}},
                          RankGroup{"has begun 42 collectives", {0, 4}}));
  EXPECT_EQ(collectives_in("has begun 42 collectives"), 42);
  EXPECT_FALSE(collectives_in("sleeping (S)"));
  EXPECT_THAT(with_collectives({{"sleeping (S)", {0}}}, {}), ElementsAre(RankGroup{"sleeping (S)", {0}}));
}

}  // namespace launch::flight_record_test
