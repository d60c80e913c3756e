#include "launch/core/base/arithmetic.hpp"

#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace launch {

std::int64_t rounded(double number) { return static_cast<std::int64_t>(number + (number < 0 ? -0.5 : 0.5)); }

int decimal_exponent(double number) {
  const std::string text = fmt::format("{:.16e}", number);
  const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  return power_of_ten(exponent + 1) <= number ? exponent + 1 : exponent;  // 1e23 is 9.9999999999999992e22
}

double power_of_ten(int exponent) { return std::strtod(fmt::format("1e{}", exponent).c_str(), nullptr); }

}  // namespace launch
