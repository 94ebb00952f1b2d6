#include "pkg/api/share_lists.h"

namespace dra::api {
namespace {

// Each adds what tells the lists of different authors apart; equal lists have equal hashes.
void add(ListHash& hash, const ManagedFieldsEntry& entry) {
  hash.add(entry.manager).add(entry.subresource);
}

void add(ListHash& hash, const StringMap& map) {
  for (const auto& [key, value] : map) hash.add(key).add(value);
}

void add(ListHash& hash, const Container& container) {
  hash.add(container.name).add(container.image);
  add(hash, container.requests);
  for (const ContainerClaim& claim : container.claims) hash.add(claim.name);
}

void add(ListHash& hash, const Toleration& toleration) {
  hash.add(toleration.key).add(toleration.value).add(toleration.effect);
}

void add(ListHash& hash, const PodResourceClaim& claim) {
  hash.add(claim.name).add(claim.resource_claim_name.value_or("")).add(claim.resource_claim_template_name.value_or(""));
}

void add(ListHash& hash, const DeviceRequest& request) {
  hash.add(request.name);
  if (!request.exactly) return;
  hash.add(request.exactly->device_class_name).add(std::to_string(request.exactly->count));
  for (const std::string& selector : request.exactly->selectors) hash.add(selector);
}

template <typename T>
void share(SharedList<T>& list) {
  ListHash hash;
  for (const T& item : list.get()) add(hash, item);
  list.share(hash.value());
}

}  // namespace

void share_lists(ObjectMeta& metadata) {
  share(metadata.managed_fields);
}

void share_lists(Pod& pod) {
  share_lists(pod.metadata);
  share(pod.containers);
  share(pod.init_containers);
  share(pod.tolerations);
  share(pod.resource_claims);
}

void share_lists(ResourceClaim& claim) {
  share_lists(claim.metadata);
  share(claim.spec.requests);
}

}  // namespace dra::api
