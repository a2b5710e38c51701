#include "aside.h"

#include <chrono>
#include <exception>
#include <thread>

namespace syrtos::python {

namespace nb = nanobind;

namespace {
constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
}  // namespace

void Aside::call(const std::function<void()>& function) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return posted_ == nullptr; });
  posted_ = &function;
  changed_.notify_all();
  changed_.wait(lock, [&] { return posted_ != &function; });
}

void Aside::do_posted(std::unique_lock<std::mutex>& lock) {
  const std::function<void()>& function = *posted_;
  lock.unlock();
  {
    const nb::gil_scoped_acquire locked;
    try {
      if (!raised_) function();
    } catch (nb::python_error& error) {
      raised_.emplace(std::move(error));
      stop();
    }
  }
  lock.lock();
  posted_ = nullptr;
  changed_.notify_all();
}

void Aside::look_for_signals(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  {
    const nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) {
      nb::python_error error;  // takes it from the interpreter
      if (!raised_) raised_.emplace(std::move(error));
      stop();
    }
  }
  lock.lock();
}

void Aside::run(const std::function<void()>& work) {
  std::exception_ptr failure;
  std::thread thread([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  });
  {
    const nb::gil_scoped_release released;
    std::unique_lock lock(mutex_);
    while (!done_) {
      const bool awake =
          changed_.wait_for(lock, kBetweenLooks, [this] { return done_ || posted_ != nullptr; });
      if (posted_ != nullptr) {
        do_posted(lock);
      } else if (!awake) {
        look_for_signals(lock);
      }
    }
    lock.unlock();
    thread.join();
  }
  if (raised_) {
    nb::python_error error = *std::exchange(raised_, std::nullopt);
    throw error;
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace syrtos::python
