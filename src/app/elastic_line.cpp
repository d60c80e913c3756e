#include "launch/app/elastic_line.hpp"

#include "launch/app/announcer.hpp"
#include "launch/app/conversations.hpp"
#include "launch/core/c10d/elastic_rendezvous.hpp"
#include "launch/core/store/keys.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/host.hpp"
#include "launch/io/local_address.hpp"
#include "launch/io/log.hpp"
#include "launch/io/port_holder.hpp"

#include <utility>

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration second_look = 1s;  // whether a store that closed the connection is still there

ElasticSettings with_self(const Config& config) {
  ElasticSettings settings = config.elastic->settings;
  settings.run_id = config.run_id;
  settings.common = common_settings(config);
  const std::string& address = config.elastic->address;
  settings.report_interval = progress_interval();
  settings.self = NodeDesc{address.empty() ? config.hostname : address, config.pid, launch_local_id};
  settings.member = Member{0, config.role, config.nproc_per_node};
  return settings;
}

}  // namespace

ElasticLine::ElasticLine(asio::any_io_executor executor, const Config& config, StoreServer& server, Listener listener)
    : executor_(executor),
      config_(config),
      server_(server),
      listener_(std::move(listener)),
      random_(random_seed()),
      heartbeat_(plan_heartbeat(config.heartbeat_timeout, config.elastic->settings.nodes.max)),
      end_(executor) {}

Status ElasticLine::open() {
  server_.preset(std::string(host_key), "1");
  server_.set_silence_limit(heartbeat_.silence);
  if (!config_.elastic->is_host.value_or(false)) return {};
  const Status opened = server_.listen(config_.master.host, config_.master.port, config_.loopback_only);
  hosts_ = opened.has_value();
  // What was killed there has ended, but its connections keep the port: tried again while this node looks for a store.
  could_host_ = !opened && is_port_cooling(config_.master.port);
  if (!could_host_) return opened;
  announce_wait_for_port(config_.master.port);
  return {};
}

// Not in open(), where no signal is heard: a name server may not answer.
asio::awaitable<void> ElasticLine::find_out_who_hosts() {
  const Whereabouts found = co_await find_host(config_.master.host, config_.hostname, give_up_);
  if (ending_) co_return;
  if (found.here && found.elsewhere)
    log_warning(
        fmt::format("the name {} leads to this machine and to others, and each of them takes itself for the "
                    "host of the store; name one of them in --rdzv-endpoint",
                    config_.master.host));
  could_host_ = found.here;
  try_to_host();
}

// Another agent of this machine may be first, and may be gone later: then this one takes its place.
void ElasticLine::try_to_host() {
  if (!could_host_ || hosts_) return;
  hosts_ = server_.try_to_listen(config_.master.host, config_.master.port, config_.loopback_only);
}

// torchrun's agents look only at what is written in the state.
Duration ElasticLine::longest_stall(bool with_launch_agents) const {
  if (heartbeat_.patience == Duration::zero()) return Duration::zero();
  const ElasticSettings& settings = config_.elastic->settings;
  return by_launch_ && with_launch_agents ? launch::longest_stall(config_.heartbeat_timeout, settings.nodes.max)
                                          : settings.keep_alive_interval * (settings.keep_alive_max_attempt - 1);
}

// ---- wishes

void ElasticLine::wake() {
  if (client_) client_->wake();
}

void ElasticLine::join(bool admits, int restarts) {
  restarts_ = restarts;
  wants_in_ = true;
  admits_ = admits && !config_.elastic->joins_wait;
  if (machine_) {
    if (!admits_) machine_->admit_nobody();
    machine_->join(now(), restarts_);
    return wake();
  }
  if (running_) return;
  running_ = true;
  run_in_background(executor_, run());
}

void ElasticLine::leave(std::string reason) {
  leaving_ = true;
  done_ = machine_ == nullptr;
  if (machine_) machine_->leave(now(), std::move(reason));
  wake();
}

void ElasticLine::close() {
  done_ = machine_ == nullptr;
  if (machine_) machine_->close(now());
  wake();
}

bool ElasticLine::pledge(LeaveWill will) {
  if (!by_launch_) return false;
  if (hosted_ != nullptr) hosted_->pledge(std::move(will));
  wake();
  return true;
}

void ElasticLine::finish(LeaveWill then) {
  if (hosted_ != nullptr) hosted_->finish(std::move(then));
  wake();
}

asio::awaitable<void> ElasticLine::end(Time deadline) {
  ending_ = true;
  while (client_ && !done_ && !ended_ && now() < deadline) {
    end_.expires_at(to_steady(deadline));
    (void)co_await end_.async_wait(as_values);
  }
  ended_ = true;
}

void ElasticLine::part() {
  if (!client_) return;
  if (by_launch_) return client_->part();
  client_->close();
}

// ---- the connection

asio::awaitable<Result<StoreClient>> ElasticLine::look_for_store(Endpoint endpoint, bool may_host) {
  Announcer announcer(now());
  const std::function<void(const Error&)> on_retry = [&](const Error& reason) {
    if (may_host) try_to_host();
    if (announcer.due())
      log_progress(fmt::format("waiting for the store at {} ({}); giving up in {}", to_text(config_.master),
                               reason.message, to_text(give_up_ - now())));
  };
  co_return co_await connect_to_store(std::move(endpoint), give_up_, random_, on_retry);
}

asio::awaitable<bool> ElasticLine::connect() {
  Endpoint endpoint = config_.master;
  if (hosts_) endpoint = {config_.loopback_only ? config_.master.host : "127.0.0.1", server_.port()};
  auto connected = co_await look_for_store(endpoint, true);
  if (ending_) co_return false;
  if (!connected) {
    Error error = connected.error();
    error.message = fmt::format("the rendezvous timed out after {}: its store is missing: {}",
                                to_text(config_.elastic->settings.join_timeout), error.message);
    listener_.failed(std::move(error));
    co_return false;
  }
  client_.emplace(std::move(*connected));
  connected_ = now();
  reached_ = client_->peer();
  address_ = config_.elastic->address;
  if (address_.empty()) address_ = hosts_ ? config_.master.host : client_->own_address();
  if (address_ == "localhost") address_ = "127.0.0.1";  // which asks no resolver
  co_return true;
}

asio::awaitable<Status> ElasticLine::choose_machine() {
  Operation look = CheckKeys{KeyList(1, std::string(host_key))};
  auto looked = co_await client_->perform(std::move(look), later(now(), config_.elastic->settings.join_timeout));
  if (!looked) co_return looked.error();
  by_launch_ = std::get<Presence>(*looked).present.at(0);
  if (by_launch_) {
    auto hosted = std::make_unique<HostedRendezvous>(with_self(config_));
    hosted_ = hosted.get();
    machine_ = std::move(hosted);
    if (heartbeat_.interval > Duration::zero()) client_->set_beats(heartbeat_.interval, heartbeat_.patience);
  } else {
    machine_ = std::make_unique<ElasticRendezvous>(with_self(config_), Random(random_.next()));
  }
  if (!admits_) machine_->admit_nobody();
  if (wants_in_ && !leaving_ && !ending_) machine_->join(now(), restarts_);
  co_return Status();
}

// As long as no round has formed here, nothing is lost with a store: it may have been that of a job that has ended.
asio::awaitable<void> ElasticLine::run() {
  give_up_ = later(now(), config_.elastic->settings.join_timeout);
  if (!config_.elastic->is_host) co_await find_out_who_hosts();
  bool connected = co_await connect();
  while (connected) {
    const Error lost = co_await pursue();
    if (ended_) co_return;
    const bool closed = lost.code == ErrorCode::closed && !ending_ && !leaving_;
    const bool silent = client_->silent() && !ending_ && !leaving_;
    wants_in_ = !formed_;
    hosted_ = nullptr;
    machine_.reset();
    bool back = false;
    if (formed_ && !ending_) listener_.uncertain(silent && by_launch_);
    if ((closed || silent) && formed_ && by_launch_) back = co_await come_back(silent);
    if (back) continue;
    if (!closed || formed_) {
      ended_ = true;
      end_.cancel();
      if (!ending_) listener_.lost(lost);
      co_return;
    }
    connected = co_await look_anew(lost);
  }
}

// Not at once where a store closes every connection: it may not understand this node.
asio::awaitable<bool> ElasticLine::look_anew(Error lost) {
  listener_.anew();
  client_.reset();
  reached_.reset();
  log_info(fmt::format("the store at {} has gone before a round formed; looking for it anew", to_text(config_.master)));
  const Time earliest = later(connected_, second_look);
  if (now() >= earliest) {
    give_up_ = later(now(), config_.elastic->settings.join_timeout);
  } else {
    asio::steady_timer timer(executor_, to_steady(earliest));
    (void)co_await timer.async_wait(as_values);
  }
  if (now() < give_up_) co_return co_await connect();
  if (!ending_) listener_.failed(std::move(lost));
  co_return false;
}

// The store may have closed the connection because nothing was heard of this node for long; or stood still itself.
asio::awaitable<bool> ElasticLine::come_back(bool was_silent) {
  give_up_ = later(now(), was_silent ? config_.heartbeat_timeout : second_look);
  auto client = co_await look_for_store(*reached_, false);
  if (!client || ending_ || leaving_) co_return false;
  client_.emplace(std::move(*client));
  connected_ = now();
  listener_.expelled();
  co_return true;
}

// Until the machine has ended, or the store is lost.
asio::awaitable<Error> ElasticLine::pursue() {
  if (auto chosen = co_await choose_machine(); !chosen) co_return chosen.error();
  Result<ElasticStep> step = machine_->start(instant());
  while (true) {
    for (ElasticNews& news : step->news) take(std::move(news));
    if (ended_) co_return Error{};
    auto outcome = co_await client_->perform(std::move(step->next), machine_->deadline());
    if (ended_) co_return Error{};
    if (!outcome) co_return outcome.error();
    step = machine_->on(*outcome, instant());
    if (!step) co_return step.error();
  }
}

// Until end() this node is still to be heard of: its workers may take their time.
void ElasticLine::take(ElasticNews news) {
  formed_ = formed_ || std::holds_alternative<RoundFormed>(news);
  if (!std::holds_alternative<RendezvousEnded>(news)) return listener_.news(std::move(news));
  done_ = true;
  end_.cancel();
}

}  // namespace launch
