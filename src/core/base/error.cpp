#include "launch/core/base/error.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace launch {

Error usage_error(std::string message) { return {ErrorCode::usage, std::move(message)}; }

Error protocol_error(std::string message) { return {ErrorCode::protocol, std::move(message)}; }

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
    case ErrorCode::conflict:
      return 2;
    case ErrorCode::timeout:
    case ErrorCode::silent:
      return 124;  // as timeout(1) does
    case ErrorCode::system:
    case ErrorCode::protocol:
    case ErrorCode::no_listener:
    case ErrorCode::closed:
    case ErrorCode::cancelled:
      return 1;
  }
  return 1;
}

void throw_exception_from_error(const Error& error, const boost::source_location& where) {
  std::fprintf(stderr, "%s:%u: the value of a failed result was read: %s\n", where.file_name(),
               static_cast<unsigned>(where.line()), error.message.c_str());
  std::abort();
}

}  // namespace launch
