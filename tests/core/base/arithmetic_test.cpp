#include "launch/core/base/arithmetic.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace launch::arithmetic_test {

TEST(Rounded, GoesToTheNearest) {
  for (const double number : {0.0, 0.4, 0.5, 1.49, 2.5, -0.4, -0.5, -2.6, 1e12 + 0.5})
    EXPECT_EQ(std::llround(number), rounded(number)) << number;
}

TEST(DecimalExponent, IsThatOfTheFirstDigit) {
  EXPECT_EQ(2, decimal_exponent(123));
  EXPECT_EQ(0, decimal_exponent(9.99999999999999));
  EXPECT_EQ(-1, decimal_exponent(0.5));
  EXPECT_EQ(-324, decimal_exponent(5e-324));
  for (int exponent = -300; exponent <= 300; ++exponent) EXPECT_EQ(exponent, decimal_exponent(power_of_ten(exponent)));
}

TEST(PowerOfTen, IsExact) {
  EXPECT_EQ(1e3, power_of_ten(3));
  EXPECT_EQ(1e-7, power_of_ten(-7));
  EXPECT_EQ(1, power_of_ten(0));
}

}  // namespace launch::arithmetic_test
