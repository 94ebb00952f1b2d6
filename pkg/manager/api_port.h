// ApiPort: performs the runner's writes and questions over a client::Transport, and puts what the server answers into
// the stores before anybody acts on it.
//
// Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/informer/entry.h"
#include "client/informer/object_store.h"
#include "client/rest/resource_path.h"
#include "client/transport/transport.h"
#include "pkg/manager/ports.h"

namespace dra::manager {

class ApiPort : public ObjectApi {
 public:
  explicit ApiPort(client::Transport& transport) : transport_(transport) {}
  ~ApiPort() override;

  // Where objects of a kind are on the server, and which store gets the answers. The store must outlive the port.
  void serve(reconcile::Kind kind, client::Resource resource, client::ObjectType type, client::ObjectStore& store);

  void perform(const reconcile::Write& write, std::function<void(Result<uint64_t>)> done) override;
  void get(const reconcile::Ref& object, std::function<void(Result<reconcile::Presence>)> done) override;

 private:
  struct Place {
    client::Resource resource;
    client::ObjectType type;
    client::ObjectStore* store = nullptr;
  };
  const Place& place(reconcile::Kind kind) const;
  Result<uint64_t> take_answer(const reconcile::Write& write, const client::Response& response);
  Result<uint64_t> take_deletion(const reconcile::Write& write, const client::Response& response);
  Result<reconcile::Presence> take_object(const reconcile::Ref& object, const Result<client::Response>& answer);
  void send(client::Request request, std::function<void(Result<client::Response>)> done);

  client::Transport& transport_;
  std::map<reconcile::Kind, Place> places_;
  std::map<uint64_t, Handle> calls_;
  uint64_t next_call_ = 1;
};

}  // namespace dra::manager
