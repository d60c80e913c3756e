#include "launch/core/session/talk.hpp"

namespace launch {

Talk<void> VoidPromise::get_return_object() {
  return Talk<void>(std::coroutine_handle<VoidPromise>::from_promise(*this));
}

}  // namespace launch
