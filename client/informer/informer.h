// Informer<T>: a store of one resource, with the reflector that keeps it up to date.
#pragma once

#include <memory>
#include <utility>

#include "client/informer/reflector.h"
#include "client/informer/store.h"

namespace dra::client {

template <class T>
class Informer {
 public:
  Informer(Reactor& reactor, Transport& transport, Random& random, ReflectorOptions options,
           std::shared_ptr<ServerTraits> traits = nullptr)
      : store_(objects_),
        type_(object_type<T>()),
        resource_(options.resource),
        reflector_(reactor, transport, random, type_, objects_, std::move(options), std::move(traits)) {}

  Store<T>& store() { return store_; }
  const Store<T>& store() const { return store_; }
  ObjectStore& objects() { return objects_; }
  const ObjectType& type() const { return type_; }
  const Resource& resource() const { return resource_; }
  Reflector& reflector() { return reflector_; }
  const Reflector& reflector() const { return reflector_; }

  void start() { reflector_.start(); }
  void stop() { reflector_.stop(); }
  // True once the handlers registered earlier have received the first complete state.
  bool synced() const { return objects_.synced(); }

 private:
  ObjectStore objects_;
  Store<T> store_;
  ObjectType type_;
  Resource resource_;
  Reflector reflector_;
};

}  // namespace dra::client
