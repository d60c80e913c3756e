// Where a line of a worker's output says how far it is (--progress): a regular expression of the user, whose first
// group is the step, or a ready-made one for a known program. A line costs a bounded time, whatever the expression is:
// at most `longest` of its bytes are looked at, and never by backtracking where the library allows that. A line without
// the plain texts that every match must have costs next to nothing.
// A text that is no such expression is an error of code usage. It reads no stream: ProgressReader does.
#pragma once

#include "launch/core/base/error.hpp"

#include <cstddef>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

class ProgressPattern {
 public:
  static constexpr std::size_t longest = 512;  // bytes of a line

  // `text`: an expression in the grammar of ECMAScript, or one of ready_made().
  static Result<ProgressPattern> compile(const std::string& text);
  // Their names.
  static std::vector<std::string_view> ready_made();

  // What a line says. `choice`: which of the forms that one program writes, the best one is 0.
  struct Found {
    double step = 0;
    int choice = 0;

    bool operator==(const Found&) const = default;
  };
  // A step that the last of `longest` bytes ends does not count: it may be cut.
  std::optional<Found> find(std::string_view line) const;

 private:
  struct Form {
    std::regex expression;
    std::vector<std::string> needed;  // required_texts() of it
  };
  std::vector<Form> forms_;
};

// The texts that stand in every line in which this regular expression is found, one after the other.
std::vector<std::string> required_texts(std::string_view expression);

// "1,200", "1_200", "12.5", "3.4k"; nullopt: no number.
std::optional<double> parse_step(std::string_view text);

}  // namespace launch
