// Says if a name or an address means this machine. Needed for a c10d endpoint, whose host serves the store without
// being told so. Names are looked up by the system's resolver, with a deadline. A name about which nothing can be found
// out is taken for another machine.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/job/endpoint.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>

namespace launch {

// `host` is here if it is our name, or if it leads to an address of one of this machine's interfaces. A name that is
// not found by the deadline, or within a few seconds, is not.
boost::asio::awaitable<Whereabouts> find_host(std::string host, std::string own_name, Time deadline);

}  // namespace launch
