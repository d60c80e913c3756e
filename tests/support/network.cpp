#include "network.hpp"

#include "launch/core/store/keys.hpp"

#include <algorithm>

namespace launch::play {
using namespace std::chrono_literals;

namespace {

constexpr Duration no_route = 3s;  // until a kernel says that a host is not there

}  // namespace

// ---- what processes do

Result<std::shared_ptr<Store>> Network::listen(const std::string& host, std::uint16_t port, bool by_launch,
                                               std::shared_ptr<Store> store) {
  if (port == 0) port = next_port_++;
  const Address address(host, port);
  if (stores_.contains(address)) return Error{ErrorCode::system, "the port is taken"};
  if (!store) store = std::make_shared<Store>(*this, host, by_launch);
  stores_.emplace(address, store);
  return store;
}

std::uint16_t Network::port_of(const Store& store) const {
  for (const auto& [address, one] : stores_)
    if (one.get() == &store) return address.second;
  return 0;
}

std::shared_ptr<Store> Network::store_at(const Endpoint& endpoint) const {
  const auto found = stores_.find({endpoint.host, endpoint.port});
  return found == stores_.end() ? nullptr : found->second;
}

std::string Network::host_of(const std::string& from, const std::string& name) const {
  return name == "localhost" || name.starts_with("127.") || name == "::1" ? from : name;
}

void Network::connect(const std::string& host, const Endpoint& endpoint, Time deadline, OnOpened on_opened) {
  events_.in(delay(), [this, host, endpoint, deadline, on_opened = std::move(on_opened)]() mutable {
    try_connect(host, endpoint, deadline, std::move(on_opened));
  });
}

void Network::try_connect(const std::string& host, const Endpoint& endpoint, Time deadline, OnOpened on_opened) {
  const std::string target = host_of(host, endpoint.host);
  const Time passable = std::max({mended_at(host, target), mended_at(target, host), thaws_at(target)});
  const auto fail_at = [&](Time when, const char* why, ErrorCode code = ErrorCode::system) {
    events_.at(when, [on_opened, why, code] { on_opened(Error{code, why}); });
  };
  if (is_down(target)) return fail_at(std::min(deadline, later(events_.now(), no_route)), "No route to host");
  if (passable > deadline) return fail_at(deadline, "Connection timed out");
  if (passable > events_.now()) {
    return events_.at(passable, [this, host, endpoint, deadline, on_opened]() mutable {
      try_connect(host, endpoint, deadline, std::move(on_opened));
    });
  }
  const auto found = stores_.find({target, endpoint.port});
  if (found == stores_.end() || rejected_.contains({host, target}))
    return fail_at(events_.now(), "Connection refused", ErrorCode::no_listener);
  const auto link = std::make_shared<Link>(*this, host, Endpoint{target, endpoint.port});
  link->store_ = found->second;
  link->connection_ = found->second->add(link);
  links_[host].push_back(link);
  on_opened(link);
}

void Network::end_store(const std::shared_ptr<Store>& store, bool resets) {
  std::erase_if(stores_, [&](const auto& entry) { return entry.second == store; });
  store->close_all(true, resets);
}

// ---- what befalls hosts

void Network::power_off(const std::string& host) {
  down_.emplace(host, true);
  well_at_ = std::max(well_at_, events_.now());
  for (const auto& weak : links_[host])
    if (const auto link = weak.lock()) link->open_ = false;
  links_.erase(host);
  std::erase_if(stores_, [&](const auto& entry) {
    if (entry.first.first != host) return false;
    entry.second->close_all(false);
    return true;
  });
}

void Network::freeze(const std::string& host, Time until) {
  Time& thaws = frozen_[host];
  thaws = std::max(thaws, until);  // what is put off until then stays so
  well_at_ = std::max(well_at_, until);
}

Time Network::thaws_at(const std::string& host) const {
  const auto found = frozen_.find(host);
  return found == frozen_.end() ? Time() : found->second;
}

void Network::cut(const std::string& from, const std::string& to, Time until) {
  cuts_.push_back({from, to, until});
  well_at_ = std::max(well_at_, until);
}

Time Network::mended_at(const std::string& from, const std::string& to) const {
  Time mended = Time::min();
  if (from == to) return mended;
  for (const Cut& one : cuts_) {
    const bool hit = (one.from == "*" || one.from == from) && (one.to == "*" || one.to == to);
    if (hit) mended = std::max(mended, one.until);
  }
  return mended;
}

void Network::reset(const std::string& host) {
  for (const auto& weak : std::vector(links_[host]))
    if (const auto link = weak.lock()) link->reset();
}

void Network::reject(const std::string& from, const std::string& to) {
  rejected_.emplace(from, to);
  for (const auto& weak : std::vector(links_[from]))
    if (const auto link = weak.lock(); link && link->peer().host == to) link->reset();
}

WallClock::duration Network::clock_of(const std::string& host) const {
  const auto found = clocks_.find(host);
  return found == clocks_.end() ? WallClock::duration()
                                : std::chrono::duration_cast<WallClock::duration>(found->second);
}

Duration Network::delay() {
  return longest_delay_ == Duration::zero() ? Duration::zero() : events_.random().between(Duration(1), longest_delay_);
}

Time Network::arrival(const std::string& from, const std::string& to, Time earliest) {
  return std::max({later(events_.now(), delay()), earliest, mended_at(from, to)});
}

// ---- a store

Store::Store(Network& network, std::string host, bool by_launch)
    : network_(network), host_(std::move(host)), by_launch_(by_launch) {
  if (by_launch) store_.table().preset(std::string(host_key), "1");
}

Instant Store::instant() const {
  const Time now = network_.events().now();
  return {now, WallTime(std::chrono::duration_cast<WallClock::duration>(now.time_since_epoch()))};
}

std::size_t Store::agent_count() const {
  return static_cast<std::size_t>(
      std::count_if(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.open && peer.agent; }));
}

std::size_t Store::talker_count() const {
  return static_cast<std::size_t>(
      std::count_if(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.open && peer.spoke; }));
}

ConnectionId Store::add(const std::shared_ptr<Link>& link) {
  peers_.emplace_back();
  peers_.back().link = link;
  const auto id = static_cast<ConnectionId>(peers_.size() - 1);
  std::string hello;
  encode(ValidateRequest{validate_magic}, hello);
  arrive(id, hello);
  return id;
}

void Store::count_request() {
  const Time now = network_.events().now();
  if (now >= later(second_, 1s)) {
    second_ = now;
    requests_ = 0;
  }
  busiest_ = std::max(busiest_, ++requests_);
  ++total_;
}

void Store::arrive(ConnectionId id, const std::string& bytes) {
  if (!alive_ || !peers_[id].open) return;
  peers_[id].spoke = peers_[id].signs.heard = true;
  RequestReader& reader = peers_[id].reader;
  std::copy(bytes.begin(), bytes.end(), reader.prepare(bytes.size()));
  reader.commit(bytes.size());
  for (auto request = reader.next(); request && request->has_value(); request = reader.next()) {
    count_request();
    peers_[id].attended = peers_[id].attended || std::holds_alternative<AttendRequest>(**request);
    std::string reply;
    std::vector<Push> pushes;
    const Status applied = by_launch_ ? store_.apply(**request, {id, instant(), reply, pushes})
                                      : store_.table().apply(id, **request, reply, pushes);
    if (!applied) {
      network_.events().note("BAD REQUEST " + applied.error().message);
      return drop(id, false);
    }
    if (!reply.empty()) answer(id, std::move(reply));
    send(std::move(pushes));
    if (!peers_[id].open) return;
    peers_[id].agent = peers_[id].agent || store_.is_watched(id);
    if (!looking_ && store_.watches()) look_for_silence();
    keep_time();
  }
}

void Store::drop(ConnectionId id, bool silent) {
  if (!alive_ || !std::exchange(peers_[id].open, false)) return;
  std::vector<Push> pushes;
  store_.drop(id, silent, instant(), pushes);
  send(std::move(pushes));
  keep_time();
  const auto link = peers_[id].link.lock();
  if (!link) return;
  link->last_received_ = network_.arrival(host_, link->host(), link->last_received_);
  link->hear(link->last_received_, [link, resets = peers_[id].agent || peers_[id].attended] { link->closed(resets); });
}

void Store::send(std::vector<Push> pushes) {
  for (Push& push : pushes) push.resets ? drop(push.to, false) : answer(push.to, std::move(push.bytes));
}

void Store::answer(ConnectionId id, std::string bytes) {
  const auto link = peers_[id].link.lock();
  if (!link || network_.is_down(link->host())) return;
  link->last_received_ = network_.arrival(host_, link->host(), link->last_received_);
  link->hear(link->last_received_, [link, bytes = std::move(bytes)] { link->received(bytes); });
}

// As io/store_server does.
void Store::look_for_silence() {
  if (silence_.limit() == Duration::zero()) return;
  looking_ = true;
  const Time planned = silence_.plan_look(network_.events().now());
  network_.events().at(planned, [self = shared_from_this()] { self->drop_silent(); });
}

void Store::drop_silent() {
  if (!alive_) return;
  const Time thaw = network_.thaws_at(host_);
  const Time now = network_.events().now();
  if (now < thaw) return network_.events().at(later(thaw, 1us), [self = shared_from_this()] { self->drop_silent(); });
  silence_.look(now);
  for (std::size_t id = 0; id < peers_.size(); ++id) {
    const bool watched = peers_[id].open && peers_[id].agent && store_.is_watched(static_cast<ConnectionId>(id));
    if (watched && silence_.is_silent(peers_[id].signs)) drop(static_cast<ConnectionId>(id), true);
  }
  looking_ = false;
  if (store_.watches()) look_for_silence();
}

void Store::keep_time() {
  const Time next = store_.deadline();
  if (next >= alarm_) return;
  alarm_ = next;
  network_.events().at(next, [this, self = shared_from_this(), next] {
    if (alarm_ != next || !alive_) return;
    alarm_ = never;
    std::vector<Push> pushes;
    store_.on_deadline(instant(), pushes);
    send(std::move(pushes));
    keep_time();
  });
}

void Store::close_all(bool by_kernel, bool resets) {
  for (std::size_t id = 0; by_kernel && id < peers_.size(); ++id) {
    const auto link = peers_[id].link.lock();
    if (!link || !peers_[id].open || network_.is_down(link->host())) continue;
    link->last_received_ = network_.arrival(host_, link->host(), link->last_received_);
    const bool unread = link->unread_since_ <= network_.events().now();  // then the kernel resets it
    link->hear(link->last_received_, [link, reset = resets || unread] { link->closed(reset); });
  }
  alive_ = false;
}

}  // namespace launch::play
