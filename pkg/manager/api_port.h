// ApiPort: the runner's writes and questions, and its events, by way of client/: what the server answers is in the
// stores before anybody acts on it.
//
// Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "client/events/event_recorder.h"
#include "client/rest/rest_client.h"
#include "client/writer/writer.h"
#include "pkg/manager/ports.h"

namespace dra::manager {

class ApiPort : public ObjectApi {
 public:
  // Both must outlive the port.
  ApiPort(client::Writer& writer, const Clock& clock) : writer_(writer), clock_(clock) {}

  // Where objects of a kind are on the server, and which store gets the answers. The store must outlive the port.
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
  const Clock& clock_;
  std::map<reconcile::Kind, Place> places_;
};

class EventPort : public EventSink {
 public:
  explicit EventPort(client::EventRecorder& recorder) : recorder_(recorder) {}
  void set_dra_api_version(std::string version) { dra_api_version_ = std::move(version); }
  void emit(const reconcile::Event& event) override;

 private:
  client::EventRecorder& recorder_;
  std::string dra_api_version_ = "resource.k8s.io/v1";
};

}  // namespace dra::manager
