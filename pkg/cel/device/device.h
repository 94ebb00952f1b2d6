// DeviceInput: one device as selectors see it, converted once.
//
// Rules (k8s.io/dynamic-resource-allocation/cel, compile.go): a name without domain belongs to the driver's domain; a
// qualified name is split at its first '/'. Where both forms name the same attribute, the qualified one wins. One value
// that cannot be converted (a malformed semver, no value at all, a list where lists are off) spoils the whole device:
// every selector fails on it, whatever it reads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/cel/value/value.h"

namespace dra::cel {

// Immutable and cheap to copy (one shared pointer); safe from many threads.
class DeviceInput {
 public:
  // No device at all: an empty driver, no attributes.
  DeviceInput();

  std::string_view driver() const;
  bool allow_multiple_allocations() const;

  // The error every selector ends with on this device, or empty. `list_attributes`: whether list values are allowed
  // (gate DRAListTypeAttributes; always in 1.37).
  std::string_view spoiled(bool list_attributes) const;

  // The value of an attribute or capacity, or null.
  const Value* attribute(std::string_view domain, std::string_view name) const;
  const Value* capacity(std::string_view domain, std::string_view name) const;

  struct Rep;
  const Rep& rep() const { return *rep_; }

 private:
  friend class DeviceInputBuilder;
  explicit DeviceInput(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}
  std::shared_ptr<const Rep> rep_;
};

// Fills one DeviceInput. Names are as in the ResourceSlice ("memory", "example.com/memory"). Texts are copied. A name
// added twice keeps the last value.
class DeviceInputBuilder {
 public:
  explicit DeviceInputBuilder(std::string_view driver, bool allow_multiple_allocations = false);
  ~DeviceInputBuilder();
  DeviceInputBuilder(const DeviceInputBuilder&) = delete;
  DeviceInputBuilder& operator=(const DeviceInputBuilder&) = delete;

  DeviceInputBuilder& add_bool(std::string_view name, bool value);
  DeviceInputBuilder& add_int(std::string_view name, int64_t value);
  DeviceInputBuilder& add_string(std::string_view name, std::string_view value);
  DeviceInputBuilder& add_version(std::string_view name, std::string_view text);
  DeviceInputBuilder& add_bools(std::string_view name, const std::vector<bool>& values);
  DeviceInputBuilder& add_ints(std::string_view name, const std::vector<int64_t>& values);
  DeviceInputBuilder& add_strings(std::string_view name, const std::vector<std::string>& values);
  DeviceInputBuilder& add_versions(std::string_view name, const std::vector<std::string>& texts);
  // An attribute of a ResourceSlice, of whichever type.
  DeviceInputBuilder& add(std::string_view name, const api::DeviceAttribute& attribute);
  // An attribute without a value: spoils the device.
  DeviceInputBuilder& add_empty(std::string_view name);
  DeviceInputBuilder& add_capacity(std::string_view name, const api::Quantity& value);
  // Parses the text; a malformed quantity spoils the device.
  DeviceInputBuilder& add_capacity_text(std::string_view name, std::string_view text);

  // Call once.
  DeviceInput build();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The device of a ResourceSlice.
DeviceInput make_device_input(std::string_view driver, const api::Device& device);

}  // namespace dra::cel
