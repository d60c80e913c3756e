#include "launch/core/control/screen_table.hpp"

#include "launch/core/control/screen_text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace launch {

// 0: the column is left out.
std::vector<std::size_t> ScreenTable::widths() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const Row& row : rows_)
    for (std::size_t i = 0; i < row.cells.size(); ++i) widths[i] = std::max(widths[i], row.cells[i].size());
  for (std::size_t i = 0; i < widths.size(); ++i)
    if (widths[i] > 0) widths[i] = std::max({widths[i], columns_[i].head.size(), columns_[i].least});
  return widths;
}

void ScreenTable::add_to(std::string& text, std::size_t columns) const {
  const std::vector<std::size_t> wide = widths();
  const auto line_of = [this, &wide](const auto& cell_at) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (wide[i] == 0) continue;
      if (!line.empty()) line += "  ";
      line += columns_[i].to_the_right ? fmt::format("{:>{}}", cell_at(i), wide[i])
                                       : fmt::format("{:<{}}", cell_at(i), wide[i]);
    }
    return line;
  };
  const bool any = std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return !row.cells.empty(); });
  if (any) launch::add_line(text, line_of([this](std::size_t i) { return columns_[i].head; }), columns);
  for (const Row& row : rows_) {
    const auto cell_at = [this, &row](std::size_t i) {
      return row.cells[i].empty() && i + 1 < columns_.size() ? std::string("-") : row.cells[i];
    };
    launch::add_line(text, row.cells.empty() ? row.line : line_of(cell_at), columns);
  }
}

}  // namespace launch
