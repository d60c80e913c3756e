// Any command line and variables are refused with one line, or become options; what stands behind the program
// arrives untouched; settling never breaks a promise of Config.
#include "launch/core/config/settle.hpp"
#include "launch/core/options/options.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace {

using namespace launch;

void check(bool holds) {
  if (!holds) std::abort();
}

void check_error(const Error& error) {
  check(error.code == ErrorCode::usage && !error.message.empty() && error.message.find('\n') == std::string::npos);
}

// Tokens end in a zero byte, as on a real command line; those with '=' behind "PET_" are variables.
void split(std::string_view text, std::vector<std::string>& args, std::vector<std::string>& variables) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\0'), text.size());
    const std::string token(text.substr(0, end));
    (token.starts_with("PET_") ? variables : args).push_back(token);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void check_config(const Options& options, const HostFacts& facts) {
  const auto config = settle(options, facts);
  if (!config) return check_error(config.error());
  check(config->nnodes() >= 1 && config->nproc_per_node >= 1);
  check(config->c10d() != nullptr || config->node_rank().known());
  check(config->node_rank().value < config->nnodes());
  check(config->store().port != 0 || config->nnodes() == 1);
  check(!config->store().host.empty() && !config->run_id.empty() && !config->program.argv.empty());
  check(config->rendezvous_timeout >= Duration{} && config->shutdown_timeout >= Duration{});
  for (const std::string& notice : config->notices) check(notice.find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> args;
  std::vector<std::string> variables;
  split({reinterpret_cast<const char*>(data), size}, args, variables);
  HostFacts facts;
  facts.env = Environment::from_lines(variables);
  facts.fresh_id = "fresh";
  facts.path_python = "/usr/bin/python3";
  facts.program.in_working_directory = true;
  facts.program.first_bytes = args.empty() ? "" : args.back();
  const auto command = parse_command(args, facts.env);
  if (!command) {
    check_error(command.error());
    return 0;
  }
  const auto* options = std::get_if<Options>(&*command);
  if (options == nullptr) return 0;
  check(!options->program.empty() && options->program_args.size() < args.size());
  check(std::equal(options->program_args.rbegin(), options->program_args.rend(), args.rbegin()));
  check_config(*options, facts);
  return 0;
}
