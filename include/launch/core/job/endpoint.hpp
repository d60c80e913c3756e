// HOST[:PORT] as torchrun's --rdzv-endpoint takes it: name, IPv4, or IPv6 in brackets if a port follows. Resolves
// nothing. A port is 1 to 65535, or 0 if the system may choose. The text of an address stays as it was typed, so that
// messages show what the user knows. The place of a store may also be an etcd, or a file.
#pragma once

#include "launch/core/base/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace launch {

// How a store at an endpoint is spoken to.
enum class StoreKind {
  tcp,   // as PyTorch's TCPStore
  etcd,  // by HTTP: what torchrun keeps in an etcd
  file,  // PyTorch's FileStore: `host` is the path of the file, and there is no port
};

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  StoreKind kind = StoreKind::tcp;
  std::string folder{};  // of an etcd: under which torchrun's older rendezvous is; empty: it is that of etcd-v2

  bool operator==(const Endpoint&) const = default;
};

// Whether a name or an address leads to this machine.
struct Whereabouts {
  bool here = false;
  bool elsewhere = false;  // if it is here: it also has an address of another machine
};

struct EndpointText {
  std::string host;                   // without brackets
  std::optional<std::uint16_t> port;  // absent if the text has none

  bool operator==(const EndpointText&) const = default;
};

// The error's message says what is wrong with `text`; it does not name the option, which only the caller knows.
Result<EndpointText> parse_endpoint(std::string_view text);

// 1 to 65535, or 0 if the caller lets the system choose.
Result<std::uint16_t> parse_port(std::string_view text);

// "host:29500", "[::1]:29500", "/shared/job.store".
std::string to_text(const Endpoint& endpoint);

// IPv4 or IPv6, without brackets; an IPv6 address may have a zone.
bool is_ip_address(std::string_view text);

// localhost, 127.0.0.0/8 or ::1: only processes of this machine can reach it.
bool is_loopback(std::string_view host);

}  // namespace launch
