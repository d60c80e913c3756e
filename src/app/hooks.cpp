#include "launch/app/hooks.hpp"

#include "launch/io/log.hpp"
#include "launch/io/program_output.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;

Hooks::Hooks(asio::any_io_executor executor, const Config& config, WorkerGroup& workers)
    : executor_(executor), config_(config), workers_(workers), disk_(executor), gpus_(executor, config, workers) {}

asio::awaitable<std::string> Hooks::before(const JobFolder::Files& files) {
  const int round = workers_.round();
  co_await gpus_.before_workers();
  if (workers_.is_over(round)) co_return std::string();
  begun_ = true;
  env_ = files.workers.front().env;
  folder_ = files.keeps ? files.attempt : std::string();
  auto spec = hook_before(config_.hooks, env_, folder_);
  if (!spec) co_return std::string();
  co_return co_await run(*std::move(spec));
}

asio::awaitable<void> Hooks::after(int exit_code) {
  if (!begun_) co_return;
  auto spec = hook_after(config_.hooks, std::move(env_), folder_, exit_code);
  if (!spec) co_return;
  workers_.begin_after();
  const std::string fault = co_await run(*std::move(spec));
  if (!fault.empty()) log_warning(fault);
}

void Hooks::show(HookMoment moment, std::string_view line) const {
  log_notice(fmt::format("{}: {}", name_of(moment), line));
}

asio::awaitable<std::string> Hooks::run(HookSpec spec) {
  log_detail(fmt::format("running the command of --{}", name_of(spec.moment)));
  HookLines lines;
  const auto take = [&](std::string_view bytes) {
    for (const std::string& line : lines.take(bytes)) show(spec.moment, line);
  };
  auto output = ProgramOutput::open(executor_, take);
  if (!output) co_return fault_of_hook(spec, HookEnd{.not_started = output.error().message}, {});
  if (!spec.log_file.empty()) (*output)->keep_in(spec.log_file, disk_);
  spec.times.kill_grace = config_.kill_grace;
  SpawnRequest request;
  request.executable = spec.executable;
  request.argv = spec.argv;
  request.env = std::move(spec.env);
  auto running = workers_.run_hook(std::move(request), (*output)->writer(), spec.times);
  const HookEnd end = co_await std::move(running);
  co_await (*output)->rest();
  if (const auto line = lines.rest()) show(spec.moment, *line);
  co_return fault_of_hook(spec, end, lines.last());
}

}  // namespace launch
