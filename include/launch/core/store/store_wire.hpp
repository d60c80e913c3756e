// PyTorch's TCPStore protocol as values and bytes, in both directions; docs/store_protocol.md describes it.
//
// Two dialects: modern (PyTorch 2.1 and later: VALIDATE first, PING) and old (up to 2.0: other opcode numbers,
// WATCH_KEY, a silent second connection). Parsing never acts. No length or count is used before it was checked against
// its limit.
#pragma once

#include "launch/core/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace launch {

enum class Dialect {
  unknown,  // what has arrived so far is the beginning of a VALIDATE, or nothing
  modern,
  old,
};

// The libuv server's limits, and our own for a whole request.
inline constexpr std::size_t max_key_bytes = std::size_t{8} * 1024;
inline constexpr std::size_t max_payload_bytes = std::size_t{8} * 1024 * 1024;
inline constexpr std::size_t max_keys = 131'072;
inline constexpr std::size_t max_request_bytes = std::size_t{64} * 1024 * 1024;
inline constexpr std::uint32_t validate_magic = 0x3C85F7CE;

// Keys and payloads are views into the reader's buffer: valid until its next call.
struct ValidateRequest {
  std::uint32_t magic;
};
struct SetRequest {
  std::string_view key, payload;
};
struct CompareSetRequest {
  std::string_view key, expected, desired;
};
struct GetRequest {
  std::string_view key;
};
struct AddRequest {
  std::string_view key;
  std::int64_t amount;
};
struct CheckRequest {
  std::vector<std::string_view> keys;
};
struct WaitRequest {
  std::vector<std::string_view> keys;
};
struct CountKeysRequest {};
struct WatchKeyRequest {  // old dialect only
  std::string_view key;
};
struct DeleteKeyRequest {
  std::string_view key;
};
struct AppendRequest {
  std::string_view key, payload;
};
struct MultiGetRequest {
  std::vector<std::string_view> keys;
};
struct MultiSetRequest {
  std::vector<SetRequest> entries;
};
struct CancelWaitRequest {};
struct PingRequest {
  std::uint32_t nonce;
};
// Those of launch's own agents, which are no pids. The answer to a beat begins with a byte with which no answer to a
// waiting operation begins.
inline constexpr std::uint32_t greeting_nonce = 0x6c61756e;
inline constexpr std::uint32_t beat_nonce = 0x02020202;
// What comes in place of the answer to a beat that is held back (core/c10d/quorum); and the nonce of the PING by which
// the node says at once that it has read that, which is not answered.
inline constexpr std::uint32_t held_nonce = 0x03030303;
inline constexpr std::uint32_t receipt_nonce = 0x04040404;
inline constexpr bool is_an_agents(const PingRequest& ping) {
  return ping.nonce == greeting_nonce || ping.nonce == beat_nonce || ping.nonce == receipt_nonce;
}
struct QueuePushRequest {
  std::string_view key, payload;
};
struct QueuePopRequest {
  std::string_view key;
};
struct QueueLengthRequest {
  std::string_view key;
};
struct ListKeysRequest {};
struct BarrierRequest {
  std::string_view key;
  std::int64_t world_size;
};
// Only launch has this request: what an agent wants of the job whose state is under the key (Attendance). Answered as
// WAIT is, with bytes (ElasticNews) after the zero. Sent only to a store that a launch agent hosts.
struct AttendRequest {
  std::string_view key, text;
};
// Only launch has this request: what to do when this connection ends, or falls silent for too long (Will); an empty
// text takes the will back. Answered by a zero byte. Sent only to a store that a launch agent hosts.
struct LeaveWillRequest {
  std::string_view text;
};

using Request =
    std::variant<ValidateRequest, SetRequest, CompareSetRequest, GetRequest, AddRequest, CheckRequest, WaitRequest,
                 CountKeysRequest, WatchKeyRequest, DeleteKeyRequest, AppendRequest, MultiGetRequest, MultiSetRequest,
                 CancelWaitRequest, PingRequest, QueuePushRequest, QueuePopRequest, QueueLengthRequest, ListKeysRequest,
                 BarrierRequest, AttendRequest, LeaveWillRequest>;

// Turns the bytes of one connection, in pieces of any size, into requests. Incremental: no byte is looked at twice
// because the bytes after it were late. Memory follows what arrived, never what was announced: none before the first
// prepare(), then a small multiple of what is held plus what prepare() asked for, and resting_bytes between requests.
class RequestReader {
 public:
  static constexpr std::size_t resting_bytes = 4096;

  // Makes room for at least `wanted` more bytes; received bytes are written there, then committed. If `wanted` is above
  // resting_bytes, the buffer is allocated and freed with every request.
  char* prepare(std::size_t wanted);
  std::size_t room() const { return capacity_ - end_; }
  void commit(std::size_t received);  // REQUIRES: received <= room()

  // The next whole request; nullopt: more bytes are needed; error: the connection must be closed (and asking again
  // gives the same error). Call it until it returns nullopt before the next prepare().
  Result<std::optional<Request>> next();

  Dialect dialect() const { return dialect_; }
  std::size_t buffered() const { return end_ - begin_; }  // bytes held for requests not yet returned
  std::size_t capacity() const { return capacity_; }

 private:
  void detect_dialect();
  Result<bool> start();
  Result<bool> scan();
  Result<bool> scan_field();
  Status check_length(std::uint64_t length) const;
  Status check_count(std::uint64_t count) const;
  void rest();
  void move_to(std::size_t capacity);

  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // first byte of the request being read
  std::size_t end_ = 0;    // one past the last byte received
  Dialect dialect_ = Dialect::unknown;

  // How far the scan of the request at begin_ has come.
  std::size_t scanned_ = 0;  // its bytes that belong to whole fields; 0: not even the opcode
  std::size_t command_ = 0;  // which alternative of Request
  std::size_t field_ = 0;    // the field that it waits for
  std::uint64_t items_ = 0;  // items of a list still to come, this one included
};

// Appends one request of the modern dialect to `out`, including VALIDATE and PING. WATCH_KEY, which that dialect lacks,
// appends nothing.
void encode(const Request& request, std::string& out);

// Replies. Numbers are little-endian; bytes are a u64 length and as many bytes.
enum class WaitReply : std::uint8_t {
  stop_waiting = 0,
  cancelled = 1
};
enum class CheckReply : std::uint8_t {
  ready = 0,
  not_ready = 1
};
enum class WatchEvent : std::uint8_t {
  updated = 0,
  created = 1,
  deleted = 2,
  registered = 3
};
void append_u8(std::string& out, std::uint8_t value);
void append_u32(std::string& out, std::uint32_t value);
void append_i64(std::string& out, std::int64_t value);
void append_bytes(std::string& out, std::string_view bytes);
std::int64_t read_i64(const char* bytes);  // eight bytes
std::uint32_t read_u32(const char* bytes);

}  // namespace launch
