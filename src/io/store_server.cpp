#include "launch/io/store_server.hpp"

#include "launch/core/job/endpoint.hpp"
#include "launch/core/store/keys.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/connect.hpp"

#include <fmt/format.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace launch {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t small_read = 2048;
constexpr std::size_t large_read = std::size_t{64} * 1024;
// If a peer does not read its answers, its further requests wait once this many bytes are held.
constexpr std::size_t most_held_answers = std::size_t{1} << 20;
// Pushes go to a peer without a request, even if it does not read. Beyond this many bytes it is closed.
constexpr std::size_t most_answers = std::size_t{512} << 20;

// The address of an IPv4 client of a socket for both families.
asio::ip::address plain(const asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

}  // namespace

// Reads, applies and answers in turn. It lives as long as one of its handlers is under way or the server lists it.
class StoreConnection : public std::enable_shared_from_this<StoreConnection> {
 public:
  StoreConnection(StoreServer& server, tcp::socket socket, ConnectionId id)
      : server_(&server), socket_(std::move(socket)), id_(id), began_(now()) {}

  ConnectionId id() const { return id_; }
  bool spoke() const { return spoke_; }
  bool is_agent() const { return watched_; }
  bool has_attended() const { return attended_; }
  SilenceWatch::Signs& signs() { return signs_; }
  bool is_of_a_worker() const { return uses_worker_keys_; }
  // From now on it may use only agents' keys.
  void belongs_to_the_past() { of_the_past_ = true; }
  std::size_t buffered() const { return counted_; }

  // Waits for the first byte without holding a buffer, because thousands of connections may say nothing.
  void start() {
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const error_code& error) {
      if (self->server_ == nullptr) return;
      if (error) return self->server_->remove(*self);
      self->read();
    });
  }

  // The server is gone or has dropped us; handlers still under way find no server. `reset`: an agent must not take this
  // for the end of our process.
  void abandon(bool reset) {
    server_ = nullptr;
    error_code ignored;
    if (reset) socket_.set_option(tcp::socket::linger(true, 0), ignored);
    socket_.close(ignored);
  }

  // Nothing is said after what the kernel has not taken yet, and what comes is read without effect.
  void part() {
    parts_ = true;
    if (!writing_) shut();
  }

  void push(const std::string& bytes) {
    if (parts_) return;
    answers_ += bytes;
    flush();
    if (server_ != nullptr) count_buffer();
  }

  std::string peer() const {
    error_code ignored;
    const tcp::endpoint address = socket_.remote_endpoint(ignored);
    return fmt::format("{} port {}", address.address().to_string(), address.port());
  }

  bool refuse(const std::string& reason) {
    server_->on_refusal_(fmt::format("closed the connection of {}: {}", peer(), reason));
    server_->remove(*this);
    return false;
  }

 private:
  void read() {
    const std::size_t wanted = reader_.buffered() > 0 ? large_read : small_read;
    char* const into = reader_.prepare(wanted);
    count_buffer();
    server_->shed();
    if (server_ == nullptr) return;
    socket_.async_read_some(asio::buffer(into, reader_.room()),
                            [self = shared_from_this()](const error_code& error, std::size_t length) {
                              if (self->server_ == nullptr) return;
                              if (error == asio::error::eof) self->server_->store_.end(self->id_);
                              if (error) return self->server_->remove(*self);
                              self->received(length);
                            });
  }

  void received(std::size_t length) {
    if (!spoke_) {
      spoke_ = true;
      ++server_->talkers_;
    }
    signs_.heard = true;
    if (parts_) return read();  // into the same room again
    reader_.commit(length);
    process();
  }

  // Handles every complete request, as long as the peer reads its answers.
  void process() {
    bool more = true;
    while (more) {
      more = answer_some();
      if (server_ == nullptr) return;
      flush();
      if (server_ == nullptr) return;
      held_ = answers_held();
      if (held_) return hold();  // writable() goes on with it
    }
    read();
  }

  void hold() {
    count_buffer();
    server_->shed();
  }

  bool answers_held() const { return answers_.size() - sent_ >= most_held_answers; }

  // False if no complete request is left, or if the connection was closed.
  bool answer_some() {
    while (!answers_held()) {
      auto request = reader_.next();
      if (!request) return refuse(request.error().message);
      if (!request->has_value()) return false;
      if (!is_let_through(**request)) return refuse("its round is over");
      attended_ = attended_ || std::holds_alternative<AttendRequest>(**request);
      const Instant at = instant();
      const Status applied = server_->store_.apply(**request, {id_, at, answers_, server_->pushes_});
      if (server_->tally_) server_->tally_->count((*request)->index(), now() - at.time);
      if (!server_->pushes_.empty()) server_->deliver(std::exchange(server_->pushes_, {}));
      if (server_ == nullptr) return false;
      if (!watched_ && server_->store_.is_watched(id_)) watch();
      if (!server_->listening_for_silence_ && server_->store_.watches()) server_->watch_for_silence();
      server_->keep_time();
      if (server_->awaits_busy_) server_->quiet_.cancel();
      if (!applied) return refuse(applied.error().message);
      if (const auto objection = server_->store_.take_objection()) server_->on_objection_(*objection);
    }
    return true;
  }

  bool is_let_through(const Request& request) {
    if (uses_worker_keys_) return true;  // the fence will close it
    if (const auto* ping = std::get_if<PingRequest>(&request)) pid_ = is_an_agents(*ping) ? 0 : ping->nonce;
    const KeyOwner owner = owner_of(request, server_->store_.table().agent_keys());
    uses_worker_keys_ = owner == KeyOwner::workers;
    if (uses_worker_keys_ && !of_the_past_ && pid_ != 0 && server_->arrivals_) note_arrival();
    return owner == KeyOwner::agents || !of_the_past_;
  }

  // PyTorch's clients send their pid with their first PING. torchrun's agents do the same, but they use no keys of
  // workers.
  void note_arrival() {
    error_code error;
    const asio::ip::address peer = plain(socket_.remote_endpoint(error).address());
    if (error) return;
    const asio::ip::address own = plain(socket_.local_endpoint(error).address());
    server_->arrivals_->note({peer.to_string(), peer == own || peer.is_loopback(), pid_, began_});
  }

  void watch() {
    watched_ = true;
    ++server_->agents_;
    // The kernel must not be the first to lose it: then it would pass for closed.
    const Duration limit = server_->silence_.limit();
    if (limit > Duration::zero() || server_->resets_agents_) expect_life(socket_, limit * 2);
  }

  void flush() {
    if (server_ == nullptr || writing_) return;
    error_code error;
    while (sent_ < answers_.size() && !error)
      sent_ += socket_.write_some(asio::buffer(answers_.data() + sent_, answers_.size() - sent_), error);
    if (sent_ == answers_.size()) {
      answers_.clear();
      sent_ = 0;
      if (answers_.capacity() > large_read) std::string().swap(answers_);
      return parts_ ? shut() : void();
    }
    if (error != asio::error::would_block) return server_->remove(*this);
    if (sent_ > large_read && sent_ >= answers_.size() / 2) {
      answers_.erase(0, sent_);  // a peer that is always a little behind must not make us keep what it has
      sent_ = 0;
    }
    if (answers_.size() - sent_ > most_answers) return (void)refuse("it does not read its answers");
    writing_ = true;
    socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const error_code& failed) {
      self->writing_ = false;
      if (self->server_ == nullptr) return;
      if (failed) return self->server_->remove(*self);
      self->writable();
    });
  }

  void shut() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }

  void writable() {
    flush();
    if (server_ == nullptr) return;
    count_buffer();
    if (!held_ || answers_held()) return;
    held_ = false;
    return parts_ ? read() : process();
  }

  void count_buffer() {
    const std::size_t held = reader_.capacity() + answers_.capacity() + server_->store_.table().held_for(id_);
    server_->buffered_ += held - counted_;
    counted_ = held;
  }

  StoreServer* server_;
  tcp::socket socket_;
  ConnectionId id_;
  Time began_;
  std::uint32_t pid_ = 0;  // as its PING says; 0: it has sent none, or is an agent of launch
  RequestReader reader_;
  std::string answers_;  // from sent_ on, not yet taken by the kernel
  std::size_t sent_ = 0;
  std::size_t counted_ = 0;  // our part of the server's buffered_
  bool spoke_ = false;
  SilenceWatch::Signs signs_;
  bool watched_ = false;  // its silence is watched
  bool attended_ = false;
  bool uses_worker_keys_ = false;
  bool of_the_past_ = false;  // there was a fence since it began
  bool writing_ = false;      // waits until the socket takes more
  bool parts_ = false;        // nothing more is said or heard
  bool held_ = false;         // its requests wait until it has read its answers
};

StoreServer::StoreServer(asio::any_io_executor executor, std::function<void(const std::string&)> on_refusal)
    : executor_(executor),
      on_refusal_(std::move(on_refusal)),
      listener_(executor, [this](tcp::socket socket) { add(std::move(socket)); }),
      look_(executor),
      clock_(executor),
      quiet_(executor) {}

void StoreServer::abandon_all(bool reset) {
  for (const auto& connection : std::exchange(connections_, {}))
    if (connection) connection->abandon(reset);
}

void StoreServer::fence() {
  store_.table().forget_workers();
  if (arrivals_) arrivals_->forget();
  listener_.accept_pending();  // they are as old as the others
  for (std::size_t id = 0; id < connections_.size(); ++id) {
    if (!connections_[id]) continue;
    connections_[id]->belongs_to_the_past();
    if (connections_[id]->is_of_a_worker()) remove(*connections_[id]);
  }
}

void StoreServer::add(tcp::socket socket) {
  error_code ignored;
  tune(socket);
  socket.non_blocking(true, ignored);
  if (free_ids_.empty()) {
    free_ids_.push_back(static_cast<ConnectionId>(connections_.size()));
    connections_.emplace_back();
  }
  const ConnectionId id = free_ids_.back();
  free_ids_.pop_back();
  connections_[id] = std::make_shared<StoreConnection>(*this, std::move(socket), id);
  connections_[id]->start();
}

void StoreServer::remove(StoreConnection& connection, bool silent) {
  const ConnectionId id = connection.id();
  const std::shared_ptr<StoreConnection> alive = std::move(connections_[id]);
  std::vector<Push> pushes;
  const bool resets = resets_agents_ && (alive->is_agent() || alive->has_attended());
  store_.drop(id, silent, instant(), pushes);
  free_ids_.push_back(id);
  buffered_ -= alive->buffered();
  talkers_ -= static_cast<std::size_t>(alive->spoke());
  agents_ -= static_cast<std::size_t>(alive->is_agent());
  if (talkers_ == 0 || alive->is_agent()) quiet_.cancel();
  alive->abandon(resets && !parts_);
  deliver(std::move(pushes));
  keep_time();
}

void StoreServer::watch_for_silence() {
  if (silence_.limit() == Duration::zero()) return;
  listening_for_silence_ = true;
  look_.expires_at(to_steady(silence_.plan_look(now())));
  look_.async_wait([this, alive = std::weak_ptr(alive_)](const error_code&) {
    if (!alive.expired()) drop_silent();
  });
}

void StoreServer::drop_silent() {
  silence_.look(now());
  for (std::size_t id = 0; id < connections_.size(); ++id) {
    const auto one = connections_[id];
    const bool watched = one && one->is_agent() && store_.is_watched(static_cast<ConnectionId>(id));
    if (watched && silence_.is_silent(one->signs())) remove(*one, true);
  }
  listening_for_silence_ = false;
  if (store_.watches()) watch_for_silence();
}

// Sets the alarm if the deadline has become earlier. If it has become later, the alarm rings for nothing.
void StoreServer::keep_time() {
  const Time next = store_.deadline();
  if (next >= alarm_) return;
  alarm_ = next;
  clock_.expires_at(to_steady(next));
  clock_.async_wait([this, alive = std::weak_ptr(alive_)](const error_code& error) {
    if (alive.expired() || error) return;
    alarm_ = never;
    std::vector<Push> pushes;
    store_.on_deadline(instant(), pushes);
    deliver(std::move(pushes));
    keep_time();
  });
}

void StoreServer::deliver(std::vector<Push> pushes) {
  for (const Push& push : pushes)
    if (const auto to = connections_[push.to]) push.resets ? remove(*to) : to->push(push.bytes);
  if (!pushes.empty()) shed();
}

// The connection that happens to ask when the limit is reached may hold little, so the one that holds most makes room.
void StoreServer::shed() {
  while (buffered_ > most_buffered_) {
    std::shared_ptr<StoreConnection> largest;
    for (const auto& connection : connections_)
      if (connection && (!largest || connection->buffered() > largest->buffered())) largest = connection;
    if (!largest) return;
    largest->refuse(
        fmt::format("all connections together hold more than {} MiB of unread answers and unfinished "
                    "requests, and this one holds the most, {} MiB",
                    most_buffered_ >> 20U, largest->buffered() >> 20U));
  }
}

std::vector<std::string> StoreServer::talker_addresses(std::size_t most) const {
  std::vector<std::string> where;
  for (const auto& one : connections_)
    if (one && one->spoke() && where.size() < most) where.push_back(one->peer());
  return where;
}

asio::awaitable<void> StoreServer::until_none(Talkers who, Time deadline) {
  awaits_busy_ = who == Talkers::busy;
  while (is_there(who) && !hurried_ && now() < deadline) {
    quiet_.expires_at(to_steady(deadline));
    (void)co_await quiet_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

asio::awaitable<void> StoreServer::part(Time deadline) {
  parts_ = true;
  hurried_ = false;
  listener_.close();
  for (const auto& connection : std::vector(connections_))
    if (connection) connection->part();
  co_await until_none(Talkers::agents, deadline);
}

}  // namespace launch
