// Every option of the command line, one row each: name, member of Options, variables, default, choices and words.
// Parsing, --help, completion and --explain all read this table. The rows of a group are in a file of their own, such
// as node_options. They never change while launch runs. To add an option, add its row, its member in options.hpp and
// the rule that settles it.
#pragma once

#include "launch/core/options/options.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace launch {

enum class OptionGroup {
  nodes,       // the job and its nodes
  rendezvous,  // how the nodes find each other
  hosts,       // one command for all of them
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

// A few words, at most so many, that are known when the program is built.
template <std::size_t most>
class WordList {
 public:
  constexpr WordList() = default;
  constexpr WordList(std::initializer_list<std::string_view> words) : size_(words.size()) {
    std::copy(words.begin(), words.end(), words_.begin());
  }
  constexpr const std::string_view* begin() const { return words_.data(); }
  constexpr const std::string_view* end() const { return words_.data() + size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr std::string_view front() const { return words_[0]; }
  constexpr std::string_view back() const { return words_[size_ - 1]; }

 private:
  std::array<std::string_view, most> words_;
  std::size_t size_ = 0;
};

using Words = WordList<5>;
using Choices = WordList<20>;

// What an empty text means, whatever source it comes from.
enum class EmptyText {
  wrong,     // it means nothing, so it is an error
  left_out,  // the same as leaving the option out
  value,     // it is a value like any other
};

// What happens to a text that is not one of the choices.
enum class Closed {
  no,         // it is a value, too
  for_flags,  // it is an error in a flag; a variable accepts any text, as torchrun's do
  by_rule,    // the rule that settles the option refuses it: it asks check_choice()
};

// The member of Options that an option sets; its type says how the text is read. --help and similar options have none.
using OptionMember =
    std::variant<std::monostate, Setting<std::string> Options::*, Setting<bool> Options::*, Setting<int> Options::*,
                 Setting<std::optional<int>> Options::*, Setting<double> Options::*>;

struct OptionRow {
  std::string_view name;          // "--nproc-per-node"; "--nproc_per_node" is accepted, too
  std::string_view short_name{};  // "-m"; empty: none
  OptionMember member{};
  OptionGroup group = OptionGroup::other;
  OptionValue takes = OptionValue::required;
  std::string_view value{};    // the placeholder for the value in --help
  Words variables{};           // the first that is set counts
  std::string_view initial{};  // the default, read as if it had been given; empty: off, or no value
  bool hides_default = false;  // --explain shows the option only if it was given
  EmptyText empty = EmptyText::wrong;
  std::string_view text;     // what --help says
  std::string_view brief{};  // what -h says, in a few words; empty: it does not show the option
  Choices choices{};         // the values, if there are only a few; the first is used if an optional value is left out
  Closed closed = Closed::no;
  bool ours = false;  // torchrun 2.13 lacks it, so no abbreviation of a torchrun option may select it
};

// The rows of all groups, in the order of --help. They stay where they are, in the program's constants.
class OptionTable {
 public:
  class Iterator {
   public:
    explicit Iterator(const OptionRow* const* at) : at_(at) {}
    const OptionRow& operator*() const { return **at_; }
    Iterator& operator++() { return ++at_, *this; }
    bool operator==(const Iterator& other) const = default;

   private:
    const OptionRow* const* at_;
  };

  explicit OptionTable(std::span<const OptionRow* const> rows) : rows_(rows) {}
  Iterator begin() const { return Iterator(rows_.data()); }
  Iterator end() const { return Iterator(rows_.data() + rows_.size()); }

 private:
  std::span<const OptionRow* const> rows_;
};

OptionTable option_table();

// REQUIRES: an option that has a member.
const OptionRow& row_of(const OptionMember& member);

std::string_view heading(OptionGroup group);

// "--nproc_per_node"
std::string underscored(std::string_view name);

}  // namespace launch
