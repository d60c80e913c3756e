// Every option of the command line, once: name, value, variables, default and words. Parsing, --help, completion and
// --explain all read this table; what a value means is in options.hpp. It never changes while launch runs. To add an
// option is to add its row here, its member in options.hpp and the rule that settles it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace launch {

enum class OptionGroup {
  nodes,       // the job and its nodes
  rendezvous,  // how the nodes find each other
  workers,     // what is started, and how
  ending,      // restarts, signals, stopping
  logs,        // output and events
  other,       // texts about launch itself
};

// How a value follows its option.
enum class OptionValue {
  none,      // a switch
  required,  // --name=V or --name V
  optional,  // --name or --name=V
};

// A handful of words that are known when the program is built.
class Words {
 public:
  constexpr Words() = default;
  constexpr Words(std::initializer_list<std::string_view> words) : size_(words.size()) {
    std::copy(words.begin(), words.end(), words_.begin());
  }
  constexpr const std::string_view* begin() const { return words_.data(); }
  constexpr const std::string_view* end() const { return words_.data() + size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr std::string_view front() const { return words_[0]; }

 private:
  std::array<std::string_view, 5> words_;
  std::size_t size_ = 0;
};

struct OptionRow {
  std::string_view name;          // "--nproc-per-node"; "--nproc_per_node" is as good
  std::string_view short_name{};  // "-m"; empty: none
  OptionGroup group = OptionGroup::other;
  OptionValue takes = OptionValue::required;
  std::string_view value{};    // what stands for the value in help
  Words variables{};           // the first that is set counts
  std::string_view initial{};  // the default, as help shows it
  std::string_view text;       // for help
  Words choices{};             // for completion: the values, where there are only a few
  bool ours = false;           // not torchrun 2.13's, so no abbreviation of one of its options may mean it
};

// Made when the program is built.
std::span<const OptionRow> option_table();

std::string_view heading(OptionGroup group);

// "--nproc_per_node"
std::string underscored(std::string_view name);

}  // namespace launch
