// Sinks: interfaces for the runner's effects: a server to write to and read from, a recorder of events, counters and
// assumptions. The manager implements them with client/; tests and simulations with objects in memory.
#pragma once

#include <functional>

#include "pkg/base/error.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::manager {

class ObjectApi {
 public:
  virtual ~ObjectApi() = default;

  // Performs the write once. The stores have the server's answer before `done`
  // runs; its value is the revision of the answer, or 0 if it has none. Errors
  // have the codes of client::write_error(). `done` never runs inside the call.
  virtual void perform(const reconcile::Write& write, std::function<void(Result<uint64_t>)> done) = 0;
  // A live GET; the stores have the answer before `done` runs. kAbsent when there is no such object, or only one with
  // another uid.
  virtual void get(const reconcile::Ref& object, std::function<void(Result<reconcile::Presence>)> done) = 0;
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  // False: the event was dropped, and may be offered again.
  virtual bool emit(const reconcile::Event& event) = 0;
};

class MetricSink {
 public:
  virtual ~MetricSink() = default;
  virtual void record(const reconcile::Metric& metric) = 0;
  // A write was answered: its purpose, and "ok" or the error's code.
  virtual void write_answered(const std::string& purpose, std::string_view result) = 0;
};

// Records decisions before the stream has them. Of several writes of one claim only the first counts until it is
// answered: what happens to the others does not change that.
class Assumptions {
 public:
  virtual ~Assumptions() = default;
  // False: another decision about the claim (Write::id) is being written.
  virtual bool assume(const reconcile::Write& write) = 0;
  // The write certainly did not happen.
  virtual void forget(const reconcile::Write& write) = 0;
  // The write happened at this revision.
  virtual void written(const reconcile::Write& write, uint64_t revision) = 0;
  virtual void avoid(const reconcile::AvoidNodes&) {}
  // A place without a write (HoldPlace), and its end.
  virtual void hold(const reconcile::AssumedPod&) {}
  virtual void let_go(const reconcile::AssumedPod&) {}
};

}  // namespace dra::manager
