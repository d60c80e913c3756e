// What went wrong, as a value.
//
// Errors of the world (bad input, a refused connection, a missing file) travel as Result<T>;
// errors of the programmer stop the program. A message reads: operation, object, reason, what to do.
#pragma once

#include <boost/system/result.hpp>

#include <string>

namespace launch {

enum class ErrorCode {
  usage,        // the command line or an environment variable is wrong; nothing was started
  conflict,     // the nodes of one job contradict each other
  system,       // the kernel or the network refused
  protocol,     // a peer sent bytes that the protocol does not know
  timeout,      // a deadline passed
  silent,       // the other side gave no sign of life before its deadline
  no_listener,  // the machine has answered that no process listens there
  closed,       // the other side has left or has closed
  cancelled,    // we were told to stop
};

struct Error {
  ErrorCode code;
  std::string message;
};

template <class T>
using Result = boost::system::result<T, Error>;
using Status = Result<void>;

Error usage_error(std::string message);
Error protocol_error(std::string message);

// The exit code of a launcher that ends because of this error, before or without any worker.
int exit_code(ErrorCode code);

// Required by boost::system::result: reading the value of a failed result is a programmer's error and aborts.
[[noreturn]] void throw_exception_from_error(const Error& error, const boost::source_location& where);

}  // namespace launch
