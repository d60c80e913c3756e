// A conversation that takes several steps, written from top to bottom: a coroutine that knows no clock, socket or
// thread. It stops wherever it waits for an answer or a moment, and whoever has that goes on with it (Stage); in a test
// and in the simulator that is a loop over values.
//
// It begins when somebody waits for it or starts it, and ends there. To destroy it while it waits is the way to give it
// up: what it had open is closed by its members. An exception that escapes stops the program.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace launch {

template <class T>
class Talk;

// The half of a promise that does not depend on the result.
struct TalkPromise {
  // Goes on with the talk that waits for this one.
  struct End {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      const std::coroutine_handle<> next = ended.promise().next;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  End final_suspend() const noexcept { return {}; }
  [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }

  std::coroutine_handle<> next;  // that waits for it
};

template <class T>
struct ValuePromise : TalkPromise {
  Talk<T> get_return_object();
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() { return *std::move(value); }

  std::optional<T> value;
};

struct VoidPromise : TalkPromise {
  Talk<void> get_return_object();
  void return_void() const {}
  void take() const {}
};

template <class T>
struct PromiseOf {
  using type = ValuePromise<T>;
};
template <>
struct PromiseOf<void> {
  using type = VoidPromise;
};

template <class T>
class [[nodiscard]] Talk {
 public:
  using promise_type = typename PromiseOf<T>::type;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Talk(Handle handle) : handle_(handle) {}
  Talk(Talk&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Talk& operator=(Talk&&) = delete;
  ~Talk() {
    if (handle_) handle_.destroy();
  }

  // For the one that starts it, if that is no talk.
  std::coroutine_handle<> handle() const { return handle_; }
  bool done() const { return handle_.done(); }

  // Waiting for it: it begins now.
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> next) noexcept {
    handle_.promise().next = next;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  Handle handle_;
};

template <class T>
Talk<T> ValuePromise<T>::get_return_object() {
  return Talk<T>(std::coroutine_handle<ValuePromise<T>>::from_promise(*this));
}

}  // namespace launch
