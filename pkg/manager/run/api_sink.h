// ApiSink and RecorderSink: perform the runner's writes, live GETs and events through the client package. The stores
// have the server's answer before anybody acts on it.
//
// Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "client/events/event_recorder.h"
#include "client/writer/writer.h"
#include "pkg/manager/run/sinks.h"

namespace dra::manager {

class ApiSink : public ObjectApi {
 public:
  // The writer must outlive this.
  explicit ApiSink(client::Writer& writer) : writer_(writer) {}

  // Registers where objects of a kind are on the server, and which store gets the answers. The store must outlive this.
  void serve(reconcile::Kind kind, const client::Resource& resource, const client::ObjectType& type,
             client::ObjectStore& store);

  void perform(const reconcile::Write& write, std::function<void(Result<uint64_t>)> done) override;
  void get(const reconcile::Ref& object, std::function<void(Result<reconcile::Presence>)> done) override;

 private:
  struct Place {
    client::Resource resource;
    client::ObjectStore* store = nullptr;
  };
  const Place& place(reconcile::Kind kind) const;

  client::Writer& writer_;
  std::map<reconcile::Kind, Place> places_;
};

class RecorderSink : public EventSink {
 public:
  explicit RecorderSink(client::EventRecorder& recorder) : recorder_(recorder) {}
  void set_dra_api_version(std::string version) { dra_api_version_ = std::move(version); }
  void set_taint_rule_api_version(std::string version) { taint_rule_api_version_ = std::move(version); }
  bool emit(const reconcile::Event& event) override;

 private:
  client::EventRecorder& recorder_;
  std::string dra_api_version_ = "resource.k8s.io/v1";
  std::string taint_rule_api_version_ = "resource.k8s.io/v1";
};

}  // namespace dra::manager
