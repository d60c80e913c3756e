// A conversation of several steps, written from top to bottom: a coroutine that knows no clock, socket or thread. It
// stops whenever it waits for an answer or a moment, and Stage continues it when that has come; in a test and in the
// simulator a loop over values takes the place of the world.
//
// It begins when somebody waits for it or starts it, and returns there when it ends. To give it up, destroy it while it
// waits: its variables close what they had open. An exception that escapes stops the program.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace launch {

template <class T>
class Talk;

// The part of a promise that does not depend on the result.
struct TalkPromise {
  // Continues the talk that waits for this one.
  struct End {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      const std::coroutine_handle<> waiting = ended.promise().next;
      return waiting ? waiting : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  End final_suspend() const noexcept { return {}; }
  [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }

  std::coroutine_handle<> next;  // the talk that waits for this one; null: none does
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

  // For code that starts a talk and is not a talk itself.
  std::coroutine_handle<> handle() const { return handle_; }
  bool done() const { return handle_.done(); }

  // Waiting for a talk: it begins now.
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
