#include "launch/app/end_report.hpp"

#include "launch/app/job_folder.hpp"
#include "launch/core/hosts/head_verdict.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"
#include "launch/io/log.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration time_for_files = 5s;

// Writes the verdict as JSON for machines. A failure to write it changes nothing, but gives a warning.
bool keep_verdict(const std::string& path, const std::string& json) {
  // Several nodes may write the same file, and somebody may read it: so nobody sees a part of it, if that is possible.
  if (may_replace(path) && replace_file(path, json + "\n")) return true;
  const Status written = write_file(path, json + "\n");
  if (!written)
    log_warning(fmt::format("cannot write the report to {} (--verdict): {}", path, written.error().message));
  return true;
}

// Whether the disk has taken it in time, if there is a file.
asio::awaitable<bool> kept_in_time(DiskThread& disk, const std::string& file, std::function<bool()> keep) {
  if (file.empty()) co_return false;
  auto keeping = disk.run_until(later(now(), time_for_files), std::move(keep));
  const auto kept = co_await std::move(keeping);
  if (!kept) log_warning(fmt::format("the file system of {} does not answer: the report may be missing from it", file));
  co_return kept.value_or(false);
}

std::string text_of(const Report& report, const Verdict& verdict) {
  if (report.formed || verdict.first.rank.known()) return render_verdict(verdict);
  return fmt::format("{} (exit code {})\n", describe(verdict.first), report.end.exit_code);
}

void show(const Config& config, const Report& report, const Verdict& verdict, const std::string& json) {
  if (config.verdict.json) {
    write_bare(json);
  } else if (config.verdict.shared_console && !shows_whole(verdict, report.round.assignment.group_rank)) {
    verdict.first.kind == Failure::Kind::signal ? log_info(render_briefly(verdict))
                                                : log_error(render_briefly(verdict));
  } else if (report.formed || verdict.first.rank.known()) {
    write_report(render_verdict(verdict));
  } else {
    log_error(fmt::format("{} (exit code {})", describe(verdict.first), report.end.exit_code));
  }
}

}  // namespace

void tell_parent(const Config& config, const Failure& first, DiskThread& disk) {
  const std::string file = config.parent_error_file;
  if (!file.empty()) disk.give([file, first] { JobFolder::tell_parent(file, first); });
}

asio::awaitable<void> report_end(const Config& config, Report report, DiskThread& of_parent, DiskThread& disk) {
  const std::string verdict_file = config.verdict.file;
  Verdict verdict{config.program.name,
                  config.run_id,
                  config.nnodes(),
                  report.round.restarts,
                  *report.end.first,
                  report.account,
                  time_left(config.preemption, instant().wall)};
  if (report.formed) verdict.nnodes = report.round.assignment.group_world_size;
  const std::string json = verdict_json(verdict);
  end_progress();
  const std::string text_file = config.verdict.text_file;
  const std::string text = text_of(report, verdict);
  const auto keep_text = [text_file, text] { return write_file(text_file, text).has_value(); };
  auto keeping_text = kept_in_time(disk, text_file, keep_text);
  const bool has_text = co_await std::move(keeping_text);
  if (!has_text) show(config, report, verdict, json);
  const auto keep = [verdict_file, json] { return keep_verdict(verdict_file, json); };
  auto keeping = kept_in_time(disk, verdict_file, keep);
  co_await std::move(keeping);
  const auto told = [] { return true; };  // comes after tell_parent()
  auto telling = kept_in_time(of_parent, config.parent_error_file, told);
  co_await std::move(telling);
}

asio::awaitable<void> report_end_of_hosts(HostsReport report, DiskThread& disk) {
  const std::string& file = report.choice.file;
  if (!report.json.empty() && report.choice.json) {
    write_bare(report.json);
  } else if (!report.text.empty()) {
    write_report(report.text);
  }
  if (report.json.empty()) co_return;
  const auto keep = [file, json = report.json] { return keep_verdict(file, json); };
  auto keeping = kept_in_time(disk, file, keep);
  co_await std::move(keeping);
  const std::string& parent = report.parent_error_file;
  const auto cause = cause_of(report.json);
  if (!cause) co_return;
  const auto tell = [parent, first = *cause] { return JobFolder::tell_parent(parent, first), true; };
  auto telling = kept_in_time(disk, parent, tell);
  co_await std::move(telling);
}

}  // namespace launch
