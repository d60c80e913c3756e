#include "launch/app/head_facts.hpp"

#include "launch/core/base/random.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/cluster/allocation.hpp"
#include "launch/io/files.hpp"
#include "launch/io/host.hpp"
#include "launch/io/remote_place.hpp"

#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t longest_host_file = std::size_t{8} << 20;
constexpr std::size_t longest_variables = std::size_t{1} << 20;

std::vector<std::string> names_of_this_host() {
  std::vector<std::string> names{own_hostname()};
  for (const NamedAddress& one : own_addresses()) names.push_back(one.address);
  return names;
}

// As DeepSpeed looks for them: in the home folder, and in this one, whose values win.
std::vector<FileText> deepspeed_files(const Environment& env) {
  const std::string name = env.get("DS_ENV_FILE").value_or(".deepspeed_env");
  const std::string home = env.get("HOME").value_or("");
  std::vector<std::string> paths{name};
  if (!name.starts_with('/') && !home.empty()) paths.insert(paths.begin(), home + "/" + name);
  std::vector<FileText> files;
  for (const std::string& path : paths)
    if (file_size(path) > 0) files.push_back({path, read_whole(path, longest_variables)});
  return files;
}

}  // namespace

Result<HeadFacts> read_head_facts(const Options& options, Environment env) {
  HeadFacts facts;
  facts.own_names = names_of_this_host();
  facts.folder = current_folder(env.get("PWD").value_or(""));
  if (facts.folder.empty()) return usage_error("the folder that this was started in is gone; start it in another one");
  facts.umask = current_umask();
  facts.self = self_path();
  facts.self_size = file_size(facts.self);
  facts.machine = machine();
  Random random(random_seed());
  facts.fresh_id = make_uuid(random);
  facts.terminal = ::isatty(STDOUT_FILENO) == 1;
  facts.input = has_input();
  const std::string batch = host_file(env);
  if (options.hosts.value == "auto" && !batch.empty()) facts.batch_file = read_file(batch, longest_host_file);
  if (options.hostfile.given()) {
    auto text = read_whole(options.hostfile.value, longest_host_file);
    if (!text) return usage_error(fmt::format("{}: {}", as_typed(options.hostfile), text.error().message));
    facts.host_file = *std::move(text);
    facts.deepspeed_env = deepspeed_files(env);
  }
  facts.env = std::move(env);
  return facts;
}

}  // namespace launch
