#include "launch/core/startup/startup_page.hpp"

#include "launch/core/base/arithmetic.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/startup/startup_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

constexpr double chart_width = 1000, label_width = 190, right_margin = 20;
constexpr double axis_height = 24, group_gap = 6, least_group = 14;
constexpr std::size_t longest_startup_text = 300;
constexpr std::size_t longest_label = 26;

// The picture's colors are readable on white and on black.
constexpr const char* style = R"(:root { color-scheme: light dark; }
body { font: 14px/1.45 system-ui, sans-serif; max-width: 1080px; margin: 24px auto; padding: 0 16px; }
h1 { font-size: 20px; margin: 0 0 2px; }
p { margin: 4px 0; }
.dim { opacity: .7; }
.big { font-size: 16px; margin: 12px 0; }
table { border-collapse: collapse; margin: 14px 0; }
th, td { text-align: left; padding: 2px 14px 2px 0; font-variant-numeric: tabular-nums; }
th { font-weight: 600; border-bottom: 1px solid #8888; }
td.n, th.n { text-align: right; }
.key { display: inline-block; width: 12px; height: 12px; margin: 0 5px 0 14px; vertical-align: -1px; }
svg { width: 100%; height: auto; display: block; margin-top: 8px; }
svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
.o { fill: #3b82c4; background: #3b82c4; }
.s { fill: #e08a1e; background: #e08a1e; }
.w { fill: #9aa3ad; fill-opacity: .35; background: #9aa3ad66; }
.m { fill: #d0342c; background: #d0342c; }
.f { fill: #2e9e5b; background: #2e9e5b; }
.g { stroke: #8885; stroke-width: 1; }
.formed { stroke: currentColor; stroke-width: 1; stroke-dasharray: 4 3; }
)";

std::string in_html(std::string_view text) {
  std::string result;
  for (const char c : without_controls(text, longest_startup_text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

double row_height(std::size_t ranks) { return ranks <= 64 ? 16 : ranks <= 512 ? 8 : 3; }

// 1, 2 or 5 times a power of ten: at most ten of them fit.
double tick_of(double end) {
  const double power = power_of_ten(decimal_exponent(end / 10));
  for (const double factor : {1.0, 2.0, 5.0})
    if (end / (factor * power) <= 10) return factor * power;
  return 10 * power;
}

// The parts of one rank's row, from left to right.
struct Phase {
  double from = 0, to = 0;
  const char* kind;  // class of the style
  const char* name;  // for the trace
};

std::vector<Phase> phases_of(const StartupTable& table, const StartupRank& rank, double end) {
  std::vector<Phase> phases;
  if (!rank.started) return phases;
  const double came = rank.store.value_or(end);
  const double spoke = std::min(rank.output.value_or(came), came);
  const bool missing = !rank.store;
  phases.push_back({*rank.started, spoke, missing && !rank.output ? "m" : "o",
                    rank.output ? "exec to first output" : "exec to store, without output"});
  if (spoke < came) phases.push_back({spoke, came, missing ? "m" : "s", "first output to store"});
  const double formed = std::max(table.formed.value_or(end), came);
  if (!missing && came < formed) phases.push_back({came, formed, "w", "waits for the others"});
  if (!missing && rank.step && *rank.step > formed) phases.push_back({formed, *rank.step, "f", "group to first step"});
  return phases;
}

std::string tip_of(const StartupTable& table, const StartupRank& rank) {
  std::string text = fmt::format("rank {} on {}: ", rank.rank, node_in_words(table, rank.node));
  if (!rank.store) return text + "was not seen at the store";
  text += fmt::format("joined after {:.2f} s: {}", *rank.store, phases_in_words(rank));
  if (rank.step) text += fmt::format("; first step after {:.2f} s", *rank.step);
  return text;
}

class Picture {
 public:
  explicit Picture(const StartupTable& table)
      : table_(table), end_(end_of(table)), row_(row_height(table.ranks.size())) {}

  std::string text() {
    std::string rows;
    for (const StartupGroup& group : groups_by_node(table_)) rows += rows_of(group);
    const std::string lines = axis();
    return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n{}{}</svg>\n", chart_width, y_ + 6, lines,
                       rows);
  }

 private:
  double x_of(double time) const {
    return label_width + (chart_width - label_width - right_margin) * std::clamp(time / end_, 0.0, 1.0);
  }

  // In front of the rows, because it is drawn first; y_ is the height of all rows by now.
  std::string axis() const {
    std::string text;
    const double tick = tick_of(end_);
    const int digits = tick >= 1 ? 0 : -decimal_exponent(tick);
    for (int i = 0; i * tick <= end_ * 1.0001; ++i) {
      const double x = x_of(i * tick);
      text += fmt::format("<line class=\"g\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\"/>", x,
                          axis_height - 6, y_);
      text += fmt::format("<text x=\"{:.1f}\" y=\"12\" text-anchor=\"middle\">{:.{}f} s</text>\n", x, i * tick, digits);
    }
    if (table_.formed)
      text += fmt::format(
          "<line class=\"formed\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\"><title>the last rank has "
          "joined</title></line>\n",
          x_of(*table_.formed), axis_height - 6, y_);
    return text;
  }

  std::string rows_of(const StartupGroup& group) {
    const double row = std::max(row_, least_group / static_cast<double>(group.ranks.size()));
    std::string text = fmt::format("<text x=\"0\" y=\"{:.1f}\">{}</text>\n", y_ + 11,
                                   in_html(beginning_of(node_in_words(table_, group.node), longest_label)));
    for (const StartupRank& rank : group.ranks) {
      text += row_of(rank, row);
      y_ += row;
    }
    y_ += group_gap;
    return text;
  }

  std::string row_of(const StartupRank& rank, double height) const {
    std::string text = fmt::format("<g><title>{}</title>", in_html(tip_of(table_, rank)));
    for (const Phase& phase : phases_of(table_, rank, end_))
      text += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                          phase.kind, x_of(phase.from), y_, std::max(x_of(phase.to) - x_of(phase.from), 0.5),
                          height > 4 ? height - 1.5 : height);
    if (height >= least_group)
      text += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", label_width - 6,
                          y_ + height - 3.5, rank.rank);
    return text + "</g>\n";
  }

  const StartupTable& table_;
  double end_;
  double row_;
  double y_ = axis_height;
};

std::string number_cell(const std::optional<double>& seconds) {
  return seconds ? fmt::format("<td class=\"n\">{:.2f} s</td>", *seconds) : "<td class=\"n\">-</td>";
}

std::string slowest_table(const StartupTable& table) {
  std::string text =
      "<table>\n<tr><th class=\"n\">rank</th><th>node</th><th class=\"n\">exec</th><th class=\"n\">first output</th>"
      "<th class=\"n\">store</th><th class=\"n\">first step</th><th>time spent</th></tr>\n";
  for (const StartupRank& rank : slowest_ranks(table, slowest_told))
    text += fmt::format("<tr><td class=\"n\">{}</td><td>{}</td>{}{}{}{}<td>{}</td></tr>\n", rank.rank,
                        in_html(node_in_words(table, rank.node)), number_cell(rank.started), number_cell(rank.output),
                        number_cell(rank.store), number_cell(rank.step), in_html(phases_in_words(rank)));
  return text + "</table>\n";
}

}  // namespace

std::string startup_html(const StartupTable& table, const StartupTitle& title) {
  const std::vector<std::string> lines = startup_lines(table);
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Start of {0}</title>\n"
      "<style>\n{1}</style>\n</head>\n<body>\n<h1>Start of {0}</h1>\n<p class=\"dim\">{2}, {3}; {4} on {5}</p>\n",
      in_html(title.run_id), style, in_html(title.program), in_html(title.when), counted(table.world_size, "rank"),
      counted(static_cast<std::int64_t>(table.hosts.size()), "node"));
  const std::size_t own = lines.size() - slowest_ranks(table, slowest_told).size();  // the others are the table's rows
  for (std::size_t i = 0; i < own; ++i) text += fmt::format("<p class=\"big\">{}.</p>\n", in_html(capital(lines[i])));
  if (table.unplaced > 0)
    text += fmt::format("<p class=\"dim\">{} to the store could not be assigned to a rank.</p>\n",
                        counted(static_cast<std::int64_t>(table.unplaced), "connection"));
  text += slowest_table(table);
  text +=
      "<p><span class=\"key o\" style=\"margin-left:0\"></span>exec to first output, or to the store"
      "<span class=\"key s\"></span>first output to store<span class=\"key w\"></span>waits for the others"
      "<span class=\"key f\"></span>group to first step<span class=\"key m\"></span>was not seen at the store</p>\n"
      "<p class=\"dim\">Seconds since the first exec. The slowest node is at the top; the dashed line is when the last "
      "rank joined. Point at a row to read it.</p>\n";
  text += Picture(table).text();
  return text + "</body>\n</html>\n";
}

std::string startup_trace(const StartupTable& table) {
  using Json = nlohmann::ordered_json;
  const auto micros = [](double seconds) { return rounded(seconds * 1e6); };
  Json events = Json::array();
  const std::vector<StartupGroup> groups = groups_by_node(table);
  const double end = end_of(table);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const int node = groups[i].node;
    events.push_back(
        {{"ph", "M"}, {"name", "process_name"}, {"pid", node}, {"args", {{"name", node_in_words(table, node)}}}});
    events.push_back({{"ph", "M"}, {"name", "process_sort_index"}, {"pid", node}, {"args", {{"sort_index", i}}}});
    for (const StartupRank& rank : groups[i].ranks) {
      const Json place = {{"pid", node}, {"tid", rank.rank}};
      Json name = {{"ph", "M"}, {"name", "thread_name"}, {"args", {{"name", fmt::format("rank {}", rank.rank)}}}};
      name.update(place);
      events.push_back(std::move(name));
      for (const Phase& phase : phases_of(table, rank, end)) {
        Json slice = {{"ph", "X"},
                      {"name", phase.name},
                      {"cat", "start"},
                      {"ts", micros(phase.from)},
                      {"dur", micros(phase.to) - micros(phase.from)}};
        slice.update(place);
        events.push_back(std::move(slice));
      }
    }
  }
  if (table.formed && !groups.empty())
    events.push_back({{"ph", "i"},
                      {"name", "the last rank has joined"},
                      {"ts", micros(*table.formed)},
                      {"pid", groups[0].node},
                      {"tid", groups[0].ranks.front().rank},
                      {"s", "g"}});
  const Json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return trace.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace launch
