#include "launch/core/c10d/witnesses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch {

using testing::ElementsAre;
using testing::IsEmpty;

NodeDesc witness_of(const char* name) { return {name, 1, launch_local_id}; }

TEST(Witnesses, TheConnectionOfANodeThatIsGivenUpIsResetOnce) {
  Witnesses witnesses;
  witnesses.add(4, witness_of("n1"));
  witnesses.add(5, witness_of("n2"));
  EXPECT_THAT(witnesses.take_void(), IsEmpty());
  witnesses.give_up(witness_of("n1"));
  witnesses.give_up(witness_of("n1"));
  witnesses.give_up(witness_of("n3"));
  EXPECT_THAT(witnesses.take_void(), ElementsAre(4));
  EXPECT_THAT(witnesses.take_void(), IsEmpty());
}

TEST(Witnesses, OneThatHasEndedIsForgotten) {
  Witnesses witnesses;
  witnesses.add(4, witness_of("n1"));
  witnesses.drop(4);
  witnesses.drop(9);
  witnesses.give_up(witness_of("n1"));
  EXPECT_THAT(witnesses.take_void(), IsEmpty());
  witnesses.add(4, witness_of("n2"));
  witnesses.give_up(witness_of("n2"));
  EXPECT_THAT(witnesses.take_void(), ElementsAre(4)) << "the number is that of another connection now";
}

TEST(Witnesses, ANodeHasOneAtATime) {
  Witnesses witnesses;
  witnesses.add(4, witness_of("n1"));
  witnesses.add(5, witness_of("n1"));
  EXPECT_THAT(witnesses.take_void(), ElementsAre(4));
  witnesses.give_up(witness_of("n1"));
  EXPECT_THAT(witnesses.take_void(), ElementsAre(5));
}

}  // namespace launch
