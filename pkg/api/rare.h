// Rare<T>: an optional whose value lives on the heap, for members that few stored objects have: an absent one takes
// eight bytes. Copies are deep. The interface is the part of std::optional's that is used here.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace dra::api {

template <typename T>
class Rare {
 public:
  Rare() = default;
  Rare(std::nullopt_t) {}                                           // NOLINT: converts as std::optional does
  Rare(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT: likewise
  Rare(const Rare& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(const Rare& other) {
    if (this != &other) value_ = other ? std::make_unique<T>(*other) : nullptr;
    return *this;
  }
  Rare& operator=(Rare&&) noexcept = default;
  Rare& operator=(T value) {
    value_ = std::make_unique<T>(std::move(value));
    return *this;
  }

  explicit operator bool() const { return value_ != nullptr; }
  bool has_value() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  template <typename... Args>
  T& emplace(Args&&... args) {
    value_ = std::make_unique<T>(T{std::forward<Args>(args)...});
    return *value_;
  }
  void reset() { value_.reset(); }

  bool operator==(const Rare& other) const {
    return value_ && other.value_ ? *value_ == *other.value_ : value_ == other.value_;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace dra::api
