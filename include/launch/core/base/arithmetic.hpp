// What <cmath> has, for what shows numbers.
//
// The program must not need the library libm: to load it takes a tenth of the time in which a job of one worker starts
// (tests/bench/startup.py). Pure.
#pragma once

#include <cstdint>

namespace launch {

// To the nearest whole number, half away from zero. The number must be finite and fit.
std::int64_t rounded(double number);

// The power of ten of its first digit: 2 of 123, -1 of 0.5. The number must be finite and greater than zero.
int decimal_exponent(double number);

double power_of_ten(int exponent);

}  // namespace launch
