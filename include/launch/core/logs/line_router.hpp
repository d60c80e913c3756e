// Cuts the bytes of one stream, as they come, into whole lines.
//
// Bytes pass unchanged, whatever they mean. An unfinished line is held back up to a limit. If a line is rewritten by
// carriage returns (a progress bar), its last state is kept.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace launch {

class LineRouter {
 public:
  // Takes a line without its end, valid during the call; carriage returns right before the end are kept. Must not call
  // the router.
  using Sink = std::function<void(std::string_view line)>;

  static constexpr std::size_t longest_held = std::size_t{1} << 20;

  // A longer line than `longest` is given in pieces.
  explicit LineRouter(std::size_t longest = longest_held) : longest_(longest) {}

  void feed(std::string_view bytes, const Sink& sink);
  // A part of a line is held back.
  bool holds() const { return !held_.empty(); }
  // The line that is held has been rewritten, so it will be again.
  bool rewritten() const { return rewritten_; }
  // Gives what is held as a line of its own.
  void flush(const Sink& sink);

 private:
  std::string_view last_state(std::string_view part);
  void hold(std::string_view part, const Sink& sink);
  void give_held(const Sink& sink);

  std::size_t longest_;
  std::string held_;  // has carriage returns at its end only
  bool rewritten_ = false;
};

}  // namespace launch
