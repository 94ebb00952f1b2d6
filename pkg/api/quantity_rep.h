// The rarely present part of a Quantity, shared by quantity.cc and quantity_parse.cc only.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "pkg/api/quantity.h"
#include "pkg/api/quantity_number.h"

namespace dra::api {

struct Quantity::Rest {
  bool big = false;
  decimal::Number number;  // when big
  std::string spelling;    // what to_string() gives, when not the canonical form
};

// Constructs and takes apart quantities.
struct QuantityOps {
  static Quantity small(int64_t coefficient, int32_t exponent, Quantity::Format format) {
    return Quantity(coefficient, exponent, format);
  }
  static Quantity big(decimal::Number number, Quantity::Format format) {
    Quantity q(0, 0, format);
    auto rest = std::make_shared<Quantity::Rest>();
    rest->big = true;
    rest->number = std::move(number);
    q.rest_ = std::move(rest);
    return q;
  }
  static Quantity spelled(Quantity q, std::string_view spelling) {
    auto rest = std::make_shared<Quantity::Rest>();
    rest->spelling = spelling;
    q.rest_ = std::move(rest);
    return q;
  }
  static decimal::Number number(const Quantity& q) {
    if (q.big()) return q.rest_->number;
    return {decimal::BigInt(q.coefficient_), q.exponent_};
  }
};

}  // namespace dra::api
