#include "launch/core/config/log_settings.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::string_view decimal_digits = "0123456789";

// 0, 1, 2 or 3: which of stdout (1) and stderr (2).
bool is_streams(std::string_view text) { return text.size() == 1 && text[0] >= '0' && text[0] <= '3'; }

bool is_streams_of_rank(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  return text.substr(0, colon).find_first_not_of(decimal_digits) == std::string_view::npos &&
         is_streams(text.substr(colon + 1));
}

Status check_streams(const Setting<std::string>& setting) {
  const auto parts = split(setting.value, ',');
  if (is_streams(setting.value) || std::all_of(parts.begin(), parts.end(), is_streams_of_rank)) return {};
  return usage_error(
      fmt::format("{}: expected 0, 1, 2 or 3 (none, stdout, stderr, both), or LOCAL_RANK:NUMBER,... as in 0:3,1:1",
                  as_typed(setting)));
}

Status check_ranks(const Setting<std::string>& setting) {
  if (!setting.given()) return {};
  const auto parts = split(setting.value, ',');
  if (std::all_of(parts.begin(), parts.end(), [](std::string_view part) { return parse_int(part).has_value(); }))
    return {};
  return usage_error(fmt::format("{}: expected local ranks, as in 0,1,2", as_typed(setting)));
}

LogChoice::Streams as_streams(char digit) { return {digit == '1' || digit == '3', digit == '2' || digit == '3'}; }

// REQUIRES: checked. A rank that this node does not have is left out, and so is a number too large for one.
std::vector<LogChoice::Streams> read_streams(std::string_view text, int nproc) {
  std::vector<LogChoice::Streams> map(static_cast<std::size_t>(nproc));
  if (text.size() == 1) {
    std::fill(map.begin(), map.end(), as_streams(text[0]));
    return map;
  }
  for (const std::string_view part : split(text, ',')) {
    const auto rank = parse_int(part.substr(0, part.find(':')));
    if (rank && *rank < nproc) map[static_cast<std::size_t>(*rank)] = as_streams(part.back());
  }
  return map;
}

// Split at commas; two commas in a row are one comma of the text.
std::vector<std::string> read_filters(const Setting<std::string>& setting) {
  if (!setting.given()) return {};
  std::vector<std::string> filters(1);
  const std::string& text = setting.value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',') {
      filters.back() += text[i];
    } else if (text.substr(i, 2) == ",,") {
      filters.back() += text[i++];
    } else {
      filters.emplace_back();
    }
  }
  return filters;
}

constexpr int usual_max_files = 5;
constexpr std::uint64_t least_max_size = 4096;

// 100, 500K, 100M, 2G, 1T: bytes, in units of 1024.
std::optional<std::uint64_t> read_size(std::string_view text) {
  constexpr std::string_view units = "KMGT";
  int shift = 0;
  if (const auto unit = text.empty() ? std::string_view::npos : units.find(text.back());
      unit != std::string_view::npos) {
    shift = 10 * (static_cast<int>(unit) + 1);
    text.remove_suffix(1);
  }
  const auto number = parse_int(text);
  if (!number || *number < 1) return std::nullopt;
  return static_cast<std::uint64_t>(*number) << shift;
}

Status read_sizes(const Options& options, LogChoice& logs) {
  if (options.log_max_size.given()) {
    const auto size = read_size(options.log_max_size.value);
    if (!size || *size < least_max_size)
      return usage_error(fmt::format("{}: expected bytes, {} or more, as in 500K, 100M or 2G",
                                     as_typed(options.log_max_size), least_max_size));
    logs.max_size = *size;
    logs.max_files = usual_max_files;
  }
  if (!options.log_max_files.value) return {};
  const Setting<int> files{*options.log_max_files.value, options.log_max_files.origin};
  if (files.value < 1) return usage_error(fmt::format("{}: expected 1 or more files", as_typed(files)));
  if (logs.max_size == 0)
    return usage_error(
        fmt::format("{}: expected --log-max-size as well, which says when a file is full", as_typed(files)));
  logs.max_files = files.value;
  return {};
}

Status read_writer(const Options& options, const HostFacts& facts, LogChoice& logs) {
  if (Status fits = check_choice(options, &Options::log_writer); !fits) return fits;
  const std::string& writer = options.log_writer.value;
  if (writer == "workers" && logs.max_size > 0)
    return usage_error(fmt::format("{}: expected launch, since --log-max-size needs it to write the files",
                                   as_typed(options.log_writer)));
  logs.through_launch = writer == "launch" || logs.max_size > 0 || (writer == "auto" && facts.log_dir_on_network);
  return {};
}

Status read_looks(const Options& options, const HostFacts& facts, LogChoice& logs) {
  logs.fold = options.fold.value;
  if (Status fits = check_choice(options, &Options::worker_stderr); !fits) return fits;
  logs.taps_err = options.worker_stderr.value == "pass";
  if (Status fits = check_choice(options, &Options::color); !fits) return fits;
  const std::string& when = options.color.value;
  const bool wanted = when == "auto" && facts.env.get("NO_COLOR").value_or("").empty();
  logs.aligned = {facts.terminal_out, facts.terminal_err};
  logs.coloured = {when == "always" || (wanted && facts.terminal_out),
                   when == "always" || (wanted && facts.terminal_err)};
  return {};
}

void notice_plug_ins(const Options& options, Config& config) {
  std::vector<std::string> unheeded;
  const std::string& handler = options.event_log_handler.value;
  const bool known = handler == "null" || handler == "console" || handler == "dynamic_rendezvous";
  if (options.logs_specs.given() && options.logs_specs.value != "null")
    unheeded.push_back(as_typed(options.logs_specs));
  if (!known) unheeded.push_back(as_typed(options.event_log_handler));
  if (!unheeded.empty())
    config.notices.push_back(
        fmt::format("{} has no effect: it names a Python plug-in of torchrun", fmt::join(unheeded, ", ")));
}

// A level above INFO, which torchrun's events have.
bool is_quiet(std::string_view level) {
  constexpr std::string_view above[] = {"WARN", "WARNING", "ERROR", "FATAL", "CRITICAL"};
  return std::find(std::begin(above), std::end(above), level) != std::end(above);
}

EventChoice read_events(const Options& options, const HostFacts& facts, const Config& config) {
  EventChoice events;
  events.file = options.events.value;
  events.torchelastic =
      options.event_log_handler.value == "console" && !is_quiet(facts.env.get("LOGLEVEL").value_or(""));
  const bool at_home = options.rdzv_backend.value == "static" && config.store().port == 0;
  events.backend = options.standalone.value || at_home ? "c10d" : options.rdzv_backend.value;
  const std::string& executable = config.program.executable;
  events.entry_point = options.run_path.value ? "run_script_path" : executable.substr(executable.rfind('/') + 1);
  return events;
}

}  // namespace

Status settle_logs(const Options& options, const HostFacts& facts, Config& config) {
  for (const Setting<std::string>* streams : {&options.redirects, &options.tee})
    if (Status fits = check_streams(*streams); !fits) return fits;
  if (Status fits = check_ranks(options.local_ranks_filter); !fits) return fits;
  config.log_folder = options.log_dir.value;
  if (facts.log_dir_is_no_folder && config.log_folder != "/dev/null") {
    return usage_error(
        fmt::format("{}: not a folder; name one (it is created if it is missing)", as_typed(options.log_dir)));
  }
  config.logs.redirects = read_streams(options.redirects.value, config.nproc_per_node);
  config.logs.tees = read_streams(options.tee.value, config.nproc_per_node);
  if (options.local_ranks_filter.given())
    for (const std::string_view rank : split(options.local_ranks_filter.value, ','))
      config.logs.shown.insert(*parse_int(rank));
  config.logs.prefix = options.log_line_prefix_template.value;
  config.logs.out_filters = read_filters(options.duplicate_stdout_filters);
  config.logs.err_filters = read_filters(options.duplicate_stderr_filters);
  if (Status fits = read_sizes(options, config.logs); !fits) return fits;
  if (Status fits = read_writer(options, facts, config.logs); !fits) return fits;
  if (Status fits = read_looks(options, facts, config.logs); !fits) return fits;
  if (Status fits = settle_verbosity(options, facts.env, config.verbosity); !fits) return fits;
  if (config.verdict.hosted && !options.verbose.value && !options.quiet.value) config.verbosity = Verbosity::hosted;
  config.events = read_events(options, facts, config);
  notice_plug_ins(options, config);
  return {};
}

Status settle_verbosity(const Options& options, const Environment& env, Verbosity& verbosity) {
  const std::string level = env.get("LOGLEVEL").value_or("");
  if (options.verbose.value && options.quiet.value)
    return usage_error(
        fmt::format("{} and {} contradict each other; give one of them", options.verbose.origin, options.quiet.origin));
  if (options.quiet.value || (is_quiet(level) && !options.verbose.value)) verbosity = Verbosity::quiet;
  if (options.verbose.value || (level == "DEBUG" && !options.quiet.value)) verbosity = Verbosity::verbose;
  return {};
}

}  // namespace launch
