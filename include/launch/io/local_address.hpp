// Whether a name or an address means this machine. For a c10d endpoint, whose host serves the store without being told
// so. Names are looked up by the system's resolver, with a deadline. A name that cannot be found out about is taken for
// another machine.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/job/endpoint.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>

namespace launch {

// By name, or because it leads to an address of one of this machine's interfaces; a name that is not found by the
// deadline, or within a few seconds, does not.
boost::asio::awaitable<Whereabouts> find_host(std::string host, std::string own_name, Time deadline);

}  // namespace launch
