// Rules: what drivers refuse of devices that several requests share (allowMultipleAllocations), so that no such
// allocation is made.
//
//   Rules rules = Rules::usual();                                     // what the programs begin with
//   if (auto error = rules.add_requests("gpu.example.com=never")) ... // a flag
//
// gpu.nvidia.com, seen on a H100 with the driver's main of August 2026: two requests of one claim on one device fail at
// prepare ("multiple device" in the CDI spec), and so does a claim whose parameters differ from those of the claims
// that have the device. Pure values; errors name the text and what to write, and the caller the flag.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dra::sharing {

// Two requests of one claim on one device (--shared-device-requests).
enum class Requests : uint8_t {
  kTogether,  // as kube-scheduler: it makes no difference
  kApart,     // different devices where there are some
  kNever,     // never the same one
};
std::optional<Requests> parse_requests(std::string_view text);
std::string_view requests_name(Requests value);

// Claims on one device whose parameters for the driver differ (--shared-device-parameters).
enum class Parameters : uint8_t {
  kAny,    // may be together
  kEqual,  // never together
};
std::optional<Parameters> parse_parameters(std::string_view text);
std::string_view parameters_name(Parameters value);

// Without anything: as kube-scheduler allocates.
struct Rules {
  static Rules usual();

  Requests others = Requests::kTogether;  // of drivers that `requests` has not
  std::map<std::string, Requests, std::less<>> requests;
  std::map<std::string, Parameters, std::less<>> parameters;  // others: kAny

  Requests requests_of(std::string_view driver) const;
  bool compares(std::string_view driver) const;
  bool compares_any() const;
  bool prefers_apart() const;  // of some driver

  // The values of the two flags, DRIVER=VALUE. What is wrong with the text; nothing: it was added.
  std::optional<std::string> add_requests(std::string_view text);
  std::optional<std::string> add_parameters(std::string_view text);

  bool operator==(const Rules&) const = default;
};

}  // namespace dra::sharing
