// RequestMixSeed: a restarted manager learns from the claims in the cluster what recent requests asked for, so that
// best-fit does not start from nothing. Where there are few claims, templates show what may come.
//
//   RequestMixSeed seed(reactor, allocator, stores);
//   seed.start();  // at the start of a term, once the stores are in step
//
// Bounded: the youngest kMostClaims claims and kMostTemplates templates, kPiece pods at a time between other work.
// Decisions do not wait for it. Belongs to the reactor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pkg/manager/run/store_view.h"
#include "pkg/reactor/reactor.h"

namespace dra::allocator {
class Allocator;
}

namespace dra::manager {

class RequestMixSeed {
 public:
  static constexpr size_t kMostClaims = 4096;
  static constexpr size_t kMostTemplates = 256;
  static constexpr size_t kFewClaims = 256;  // with fewer than these, templates count as well
  static constexpr size_t kPiece = 32;
  static constexpr uint32_t kMostTries = 64;  // slices for one pod or template

  // All must outlive this. `stores` may be filled in later, before start().
  RequestMixSeed(Reactor& reactor, allocator::Allocator& allocator, const Stores& stores)
      : reactor_(reactor), allocator_(allocator), stores_(stores) {}

  void start();
  void stop() {
    timer_.cancel();
    left_.clear();
  }
  size_t left() const { return left_.size(); }  // pods and templates not learned from yet

 private:
  // The claims of one pod, or of no known pod.
  struct Asked {
    std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
    std::shared_ptr<const api::Pod> pod;
  };
  void gather();
  void gather_claims();
  void gather_templates();
  void learn_some();

  Reactor& reactor_;
  allocator::Allocator& allocator_;
  const Stores& stores_;
  Handle timer_;
  std::vector<Asked> left_;  // the oldest last
  uint32_t tries_ = 0;       // for the last one of left_
};

}  // namespace dra::manager
