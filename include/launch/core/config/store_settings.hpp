// Where the nodes of a c10d job meet if none of them hosts a store: at an etcd (--rdzv-backend=etcd-v2, or etcd for the
// older rendezvous of torchrun), or in a file (c10d with store_type=file); or at one of several hosts that
// --rdzv-endpoint lists. Part of settle(), called by node_settings and cluster_settings. It resolves no name and opens
// nothing. Errors are one line that names the option.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/options/key_values.hpp"
#include "launch/core/options/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

bool is_etcd_backend(std::string_view backend);
// torchrun's older rendezvous at an etcd.
bool is_older_backend(std::string_view backend);
inline constexpr std::uint16_t default_c10d_port = 29'400;

// Ranks are assigned, and nodes may come and go.
bool is_elastic_backend(std::string_view backend);

// An error that says what --rdzv-backend can be.
Error backend_error(const Options& options);

// The nodes meet at an etcd or in a file.
bool meets_elsewhere(const Options& options);

// Values of --rdzv-conf that an etcd could not be reached with.
Status check_etcd_keys(const Options& options, const KeyValues& conf);

// The keys of --rdzv-conf by which torchrun connects to an etcd by https. The older backend has other ones.
std::vector<std::string> https_keys(std::string_view backend);
// The keys that this backend knows; for c10d and etcd-v2 beside those of c10d.
std::vector<std::string> etcd_keys(std::string_view backend);

// The endpoint lists several hosts.
bool lists_hosts(const Options& options);

// An error if it does and cannot: several need c10d, an id, and another host of the store when one is lost.
Status check_hosts(const Options& options);

// All of them. REQUIRES: check_hosts() found no fault.
std::vector<Endpoint> listed_hosts(const Options& options);

// Where the etcd or the file is; an error if no other node could find it.
Result<Endpoint> settle_store_elsewhere(const Options& options);

}  // namespace launch
