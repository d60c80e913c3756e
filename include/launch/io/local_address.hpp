// Whether a name or an address means this machine.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <string>

namespace launch {

// By name, or because it leads to an address of one of this machine's interfaces; a name that is not found within a few
// seconds does not.
boost::asio::awaitable<bool> is_this_host(std::string host, std::string own_name);

}  // namespace launch
