// Arbitrary bytes over several connections into one store. The same bytes are then given one at a time: neither the
// requests nor the replies may depend on where the pieces end, and no reader may hold much more than it was given.
#include "launch/core/store/store_table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace launch {
namespace {

constexpr std::size_t connections = 4;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

// What a connection said (as the modern dialect would write it) and what it was sent.
struct Transcript {
  std::string requests, sent;
  bool operator==(const Transcript&) const = default;
};

class Server {
 public:
  // False: the connection was closed, what was left of the piece is lost, and its next bytes are those of a new one.
  bool receive(std::size_t connection, std::string_view piece) {
    RequestReader& reader = readers_[connection];
    std::copy(piece.begin(), piece.end(), reader.prepare(piece.size()));
    require(reader.room() >= piece.size(), "prepare gives the room it was asked for");
    reader.commit(piece.size());
    Progress progress = Progress::served;
    while (progress == Progress::served) progress = serve(static_cast<ConnectionId>(connection));
    require(reader.buffered() <= max_request_bytes, "a request that is too large is refused early");
    require(reader.capacity() <= 4 * reader.buffered() + 2 * RequestReader::resting_bytes + piece.size(),
            "a reader holds a small multiple of what arrived");
    return progress != Progress::closed;
  }

  void close_all() {
    for (std::size_t connection = 0; connection < connections; ++connection) close(connection);
    require(table_.waiting_connections() + table_.awaited_keys() + table_.watched_keys() == 0,
            "closed connections leave nothing behind");
  }

  const std::array<Transcript, connections>& transcripts() const { return transcripts_; }
  std::size_t keys() const { return table_.size(); }

 private:
  enum class Progress {
    served,
    starved,
    closed
  };

  Progress serve(ConnectionId from) {
    auto request = readers_[from].next();
    if (!request) return close(from, request.error().message);
    if (!*request) return Progress::starved;
    Transcript& transcript = transcripts_[from];
    const std::size_t written = transcript.requests.size();
    encode(**request, transcript.requests);
    require(transcript.requests.size() > written || std::holds_alternative<WatchKeyRequest>(**request),
            "every modern request can be written");
    return apply(from, **request);
  }

  Progress apply(ConnectionId from, const Request& request) {
    Transcript& transcript = transcripts_[from];
    std::vector<Push> pushes;
    const std::size_t sent = transcript.sent.size();
    const Status status = table_.apply(from, request, transcript.sent, pushes);
    require(transcript.sent.size() - sent <= 2 * max_reply_bytes, "a reply is bounded");
    for (const Push& push : pushes) {
      require(push.to != from && push.to < connections, "pushes go to other connections");
      transcripts_[push.to].sent += push.bytes;
    }
    return status ? Progress::served : close(from, status.error().message);
  }

  Progress close(std::size_t connection, std::string_view reason = {}) {
    std::vector<Push> pushes;
    table_.drop(static_cast<ConnectionId>(connection), connection % 2 == 1, pushes);
    for (const Push& push : pushes) {
      require(push.to != connection && push.to < connections, "what a will wakes is others");
      transcripts_[push.to].sent += push.bytes;
    }
    readers_[connection] = RequestReader{};
    transcripts_[connection].sent += reason;
    return Progress::closed;
  }

  StoreTable table_;
  std::array<RequestReader, connections> readers_;
  std::array<Transcript, connections> transcripts_;
};

struct Piece {
  std::size_t connection;
  std::string_view bytes;
};

// Each piece begins with a byte that names its connection and a byte that gives its length.
std::vector<Piece> pieces_of(std::string_view input) {
  std::vector<Piece> pieces;
  while (input.size() > 2) {
    const auto connection = static_cast<unsigned char>(input[0]) % connections;
    const std::string_view bytes = input.substr(2, static_cast<unsigned char>(input[1]));
    input.remove_prefix(2 + bytes.size());
    pieces.push_back({connection, bytes});
  }
  return pieces;
}

}  // namespace
}  // namespace launch

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  Server whole;
  Server split;
  for (const Piece& piece : pieces_of({reinterpret_cast<const char*>(data), size})) {
    const bool open = whole.receive(piece.connection, piece.bytes);
    bool split_open = true;
    for (std::size_t at = 0; split_open && at < piece.bytes.size(); ++at) {
      split_open = split.receive(piece.connection, piece.bytes.substr(at, 1));
    }
    require(open == split_open, "the pieces do not decide whether a connection is closed");
    require(whole.transcripts() == split.transcripts(), "the pieces change nothing");
  }
  require(whole.keys() == split.keys(), "the pieces change nothing that is stored");
  whole.close_all();
  split.close_all();
  return 0;
}
