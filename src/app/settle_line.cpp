#include "launch/app/settle_line.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/pmi_talk.hpp"
#include "launch/core/cluster/start_values.hpp"
#include "launch/core/config/cluster_settings.hpp"
#include "launch/core/config/settle.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"
#include "launch/io/pmi_exchange.hpp"
#include "launch/io/pmix_exchange.hpp"
#include "launch/io/process_facts.hpp"

#include <utility>
#include <variant>

#include <fmt/format.h>

namespace launch {
namespace {

// Where node 0 is, by the starter's server. With --explain nobody is asked, since all would have to be there.
Status ask_server(const Environment& env, const ProcessFacts& process, const Options& options, ClusterStart& start) {
  if (!options.explain.value.empty()) {
    start.knows_places = true;  // as it will
    return add_answer(RankAnswer{"", "HOST-OF-RANK-0", first_own_port, ""}, start);
  }
  RankQuestion question;
  question.descriptor = parse_int(env.get("PMI_FD").value_or("")).value_or(-1);
  question.ranks = start.nodes.value;
  question.first = start.node_rank.value == NodeRank(0);
  question.hostname = process.hostname;
  question.port = static_cast<std::uint16_t>(options.master_port.given() ? options.master_port.value : 0);
  question.limit = longest_wait(options);
  question.on_wait = [&start] {
    log_info(fmt::format("waiting for all {} ranks of {}", start.nodes.value, start.starter));
  };
  const bool by_library = start.server == RankServer::pmix;
  return add_answer(by_library ? exchange_by_pmix(question, pmix_libraries(process)) : exchange_by_pmi(question),
                    start);
}

// What a scheduler says of what the user has not.
Result<ClusterUse> look_around(const Environment& own, Options& options) {
  const auto extended = with_platform_files(own);
  const Environment& env = extended ? *extended : own;
  const ProcessFacts process = may_be_in_cluster(env) ? read_process_facts(env) : ProcessFacts();
  auto view = find_cluster(env, process, options);
  if (!view) return view.error();
  if (must_ask_server(*view, options))
    if (Status asked = ask_server(env, process, options, *view->start); !asked) return asked.error();
  return use_cluster(*view, options);
}

}  // namespace

Result<Config> settle_line(Options& options, HostFacts& facts, Environment env) {
  auto use = look_around(env, options);
  if (!use) return use.error();
  facts = read_host_facts(options, std::move(env));
  auto config = settle(options, facts);
  if (!config) return config;
  if (Status fits = check_place(*use, options, *config); !fits) return fits.error();
  config->start = std::move(use->told);
  config->found = std::move(use->found);
  config->place = use->place;
  config->started_as_rank = use->has_ranks && !use->told.empty();
  set_ports(*config, std::move(use->ports));
  config->verdict.shared_console = use->shares_console;
  config->notices.insert(config->notices.begin(), use->notices.begin(), use->notices.end());
  config->worker_env = worker_environment(*use, options, *config);
  return config;
}

}  // namespace launch
