#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tune {

enum class ErrorCode {
  io,         ///< The system refused.
  not_found,  ///< This machine does not have it.
  damaged,    ///< What was stored is not as it was written.
  refused,    ///< One side does not accept the other, and would not another time.
};

/// What went wrong, for what a right program must expect. The message names the place and the
/// value.
struct Error {
  ErrorCode code = ErrorCode::io;
  std::string message;
};

/// A value, or why there is none.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// @throws std::logic_error with the error's message if there is no value.
  [[nodiscard]] T& value() & {
    require();
    return std::get<0>(content_);
  }
  [[nodiscard]] const T& value() const& {
    require();
    return std::get<0>(content_);
  }
  [[nodiscard]] T&& value() && {
    require();
    return std::get<0>(std::move(content_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// @pre `!has_value()`
  [[nodiscard]] const Error& error() const { return std::get<1>(content_); }

 private:
  void require() const {
    if (!has_value()) throw std::logic_error(error().message);
  }

  std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Expected<void> {
 public:
  Expected() = default;
  Expected(Error error) : error_(std::move(error)), failed_(true) {}

  [[nodiscard]] bool has_value() const { return !failed_; }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
  bool failed_ = false;
};

/// Thrown by a Trainable or train function whose configuration cannot work. The trial ends as
/// `error` without a retry and the searcher learns that the point is infeasible.
class InvalidConfig : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~InvalidConfig() override;
};

namespace detail {
[[noreturn]] void assertion_failed(std::string_view condition, std::string_view file, int line);
}  // namespace detail

}  // namespace tune

/// A condition that only a fault of ours can break. Checked in every build; throws
/// std::logic_error.
#define TUNE_ASSERT(condition) \
  ((condition) ? void() : ::tune::detail::assertion_failed(#condition, __FILE__, __LINE__))
