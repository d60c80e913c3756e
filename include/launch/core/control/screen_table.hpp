// Rows of a screen of launch-ctl under one head. A column is as wide as the widest of its cells, and a column in which
// nothing is known of any row is left out. Lines of another kind may stand between the rows. Pure; widths are in bytes,
// and cells must hold nothing that a terminal obeys. It sorts nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace launch {

class ScreenTable {
 public:
  struct Column {
    std::string head;
    bool to_the_right = true;
    std::size_t least = 0;  // bytes, so that a page that is drawn again does not jump
  };
  // The last column takes what room is left.
  explicit ScreenTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // A cell for each column; empty: it is not known.
  void add_row(std::vector<std::string> cells) { rows_.push_back({std::move(cells), {}}); }
  void add_line(std::string line) { rows_.push_back({{}, std::move(line)}); }
  // Head and rows, each cut to `columns` bytes; without rows only the lines.
  void add_to(std::string& text, std::size_t columns) const;

 private:
  struct Row {
    std::vector<std::string> cells;  // none: it is a line
    std::string line;
  };

  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace launch
