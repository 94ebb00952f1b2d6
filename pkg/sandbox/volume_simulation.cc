#include "pkg/sandbox/volume_simulation.h"

#include <array>
#include <nlohmann/json.hpp>

namespace dra::sandbox {
namespace {

const client::Resource kVolumeClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true};
const client::Resource kVolumes{"", "v1", "persistentvolumes", "PersistentVolume", false};
const client::Resource kStorageClasses{"storage.k8s.io", "v1", "storageclasses", "StorageClass", false};
const client::Resource kNodesWithTopology{"", "v1", "nodes", "Node", false};
const client::Resource kAttachments{"storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", false};

client::ReflectorOptions watch_of(const client::Resource& resource) {
  client::ReflectorOptions options;
  options.resource = resource;
  return options;
}

std::string claim_of(const Json& volume) {
  const std::string name = text_at(volume, "/spec/claimRef/name");
  return name.empty() ? "" : text_at(volume, "/spec/claimRef/namespace") + "/" + name;
}

}  // namespace

VolumeSimulation::VolumeSimulation(Reactor& reactor, client::Transport& transport, Random& random, size_t max_passes,
                                   client::Informer<RawObject>& pods,
                                   std::function<void(const std::string&)> pod_changed)
    : pods_(pods),
      pod_changed_(std::move(pod_changed)),
      traits_(std::make_shared<client::ServerTraits>()),
      claims_(reactor, transport, random, watch_of(kVolumeClaims), traits_),
      volumes_(reactor, transport, random, watch_of(kVolumes), traits_),
      classes_(reactor, transport, random, watch_of(kStorageClasses), traits_),
      nodes_(reactor, transport, random, watch_of(kNodesWithTopology), traits_),
      attachments_(reactor, transport, random, watch_of(kAttachments), traits_),
      view_(make_view()),
      runner_(reactor, transport, max_passes,
              {[this] { return synced() && pods_.synced(); }, [this](const std::string& key) { return run(key); },
               [this](const ApiCall& call, const client::Response& response) { feed(call, response); }}) {
  watch_changes();
}

VolumeSimulation::~VolumeSimulation() {
  stop();
}

void VolumeSimulation::start() {
  runner_.start();
  for (auto* informer : {&claims_, &volumes_, &classes_, &nodes_, &attachments_}) informer->start();
}

void VolumeSimulation::stop() {
  for (auto* informer : {&claims_, &volumes_, &classes_, &nodes_, &attachments_}) informer->stop();
  runner_.stop();
}

bool VolumeSimulation::synced() const {
  for (const auto* informer : {&claims_, &volumes_, &classes_, &nodes_, &attachments_})
    if (!informer->synced()) return false;
  return true;
}

VolumeView VolumeSimulation::make_view() {
  const auto by_key = [](client::Informer<RawObject>& informer) {
    return [&informer](const std::string& key) -> const Json* {
      const auto object = informer.store().get(key);
      return object ? object->document.get() : nullptr;  // the store keeps it alive during the pass
    };
  };
  VolumeView view;
  view.volume = by_key(volumes_);
  view.storage_class = by_key(classes_);
  view.node = by_key(nodes_);
  view.attachment = by_key(attachments_);
  view.claim = by_key(claims_);
  view.volumes = [this] {
    std::vector<const Json*> all;
    for (const auto& v : volumes_.store().list()) all.push_back(v->document.get());
    return all;
  };
  view.pods_of_claim = [this](const std::string& key) {
    std::vector<const Json*> all;
    for (const auto& pod : pods_.store().by_index("volume-claim", key)) all.push_back(pod->document.get());
    return all;
  };
  return view;
}

void VolumeSimulation::watch_changes() {
  for (auto* informer : {&claims_, &volumes_, &classes_, &nodes_, &attachments_})
    informer->objects().on_replaced([this] { runner_.schedule(); });
  claims_.store().on_change([this](const client::Change<RawObject>& change) {
    const RawObject& claim = change.after ? *change.after : *change.before;
    const std::string key = claim.metadata.key();
    if (change.after) runner_.add("claim/" + key);
    const std::string volume = text_at(*claim.document, "/spec/volumeName");
    if (!volume.empty()) runner_.add("volume/" + volume);
    if (!change.after)
      for (const auto& v : volumes_.store().list())
        if (claim_of(*v->document) == key) runner_.add("volume/" + v->metadata.name);
    enqueue_pods_of(key);
  });
  volumes_.store().on_change([this](const client::Change<RawObject>& change) {
    const RawObject& volume = change.after ? *change.after : *change.before;
    if (change.after) runner_.add("volume/" + volume.metadata.name);
    const std::string claim = claim_of(*volume.document);
    if (claim.empty()) return enqueue_claims();
    runner_.add("claim/" + claim);
    enqueue_pods_of(claim);
  });
  classes_.store().on_change([this](const client::Change<RawObject>&) { enqueue_claims(); });
  attachments_.store().on_change([this](const client::Change<RawObject>& change) {
    const RawObject& attachment = change.after ? *change.after : *change.before;
    if (change.after) runner_.add("attachment/" + attachment.metadata.name);
    const auto volume = volumes_.store().get(text_at(*attachment.document, "/spec/source/persistentVolumeName"));
    if (volume) enqueue_pods_of(claim_of(*volume->document));
  });
}

// A change of a volume or class, for which any claim may have waited.
void VolumeSimulation::enqueue_claims() {
  for (const auto& claim : claims_.store().list())
    if (text_at(*claim->document, "/spec/volumeName").empty()) runner_.add("claim/" + claim->metadata.key());
}

void VolumeSimulation::enqueue_pods_of(const std::string& claim_key) {
  for (const auto& pod : pods_.store().by_index("volume-claim", claim_key)) {
    runner_.add("pod/" + pod->metadata.key());
    pod_changed_(pod->metadata.key());
  }
}

void VolumeSimulation::on_pod(const client::Change<RawObject>& change) {
  const RawObject& pod = change.after ? *change.after : *change.before;
  const std::vector<std::string> keys = volume_claims_of(*pod.document);
  if (keys.empty()) return;
  if (change.after) runner_.add("pod/" + pod.metadata.key());
  for (const std::string& key : keys) {
    runner_.add("claim/" + key);
    const auto claim = claims_.store().get(key);
    if (!claim) continue;
    const std::string volume = text_at(*claim->document, "/spec/volumeName");
    for (const auto& attachment : attachments_.store().list())
      if (text_at(*attachment->document, "/spec/source/persistentVolumeName") == volume)
        runner_.add("attachment/" + attachment->metadata.name);
  }
}

Step VolumeSimulation::run(const std::string& key) {
  const size_t slash = key.find('/');
  const std::string kind = key.substr(0, slash), name = key.substr(slash + 1);
  const auto object = (kind == "claim"    ? claims_
                       : kind == "volume" ? volumes_
                       : kind == "pod"    ? pods_
                                          : attachments_)
                          .store()
                          .get(name);
  if (!object) return {};
  if (kind == "claim") return volume_claim_pass(*object->document, view_);
  if (kind == "volume") return volume_pass(*object->document, view_);
  if (kind == "attachment") return attachment_pass(*object->document, view_);
  Step step = ephemeral_pass(*object->document, view_);
  for (ApiCall& call : attach_pass(*object->document, view_).calls) step.calls.push_back(std::move(call));
  return step;
}

void VolumeSimulation::feed(const ApiCall& call, const client::Response& response) {
  auto& informer = call.path.find("/persistentvolumeclaims") != std::string::npos ? claims_
                   : call.path.find("/persistentvolumes") != std::string::npos    ? volumes_
                                                                                  : attachments_;
  auto entry = informer.type().decode(response.body);
  if (entry) informer.objects().answer(std::move(*entry));
}

}  // namespace dra::sandbox
