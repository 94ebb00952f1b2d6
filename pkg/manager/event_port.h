// EventPort: writes events.k8s.io/v1 events for people. Best effort and bounded: an event that cannot be written is
// counted and forgotten; nothing waits for it.
//
// Belongs to the reactor's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "client/transport/transport.h"
#include "pkg/manager/ports.h"
#include "pkg/reactor/reactor.h"

namespace dra::manager {

class EventPort : public EventSink {
 public:
  static constexpr size_t kMaxInFlight = 256;
  static constexpr size_t kMaxNote = 1024;  // of the API

  // Both must outlive the port. `instance` names this process.
  EventPort(Reactor& reactor, client::Transport& transport, std::string instance)
      : reactor_(reactor), transport_(transport), instance_(std::move(instance)) {}
  void emit(const reconcile::Event& event) override;
  uint64_t dropped() const { return dropped_; }

 private:
  Reactor& reactor_;
  client::Transport& transport_;
  std::string instance_;
  uint64_t next_ = 1;
  uint64_t dropped_ = 0;
  std::map<uint64_t, Handle> calls_;
};

}  // namespace dra::manager
