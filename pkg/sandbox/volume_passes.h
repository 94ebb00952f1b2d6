// What kube-controller-manager, a CSI provisioner and a CSI attacher do about volumes, as pure passes over the objects.
//
// Claims: a volume that names the claim, or for a class with volumeBindingMode Immediate the smallest one that fits, is
// bound to it; otherwise, unless the class says kubernetes.io/no-provisioner, one is made: at once, or for
// WaitForFirstConsumer when volume.kubernetes.io/selected-node names a node, reachable from that node's zone (or, where
// it has no zone, from that node alone). Volumes: Available, Bound, Released, or deleted with their claim as their
// reclaim policy says. Attachments: CSI volumes of bound pods get a VolumeAttachment, attached at once, and lose it
// with the last pod on the node. Finalizers kubernetes.io/pvc-protection and pv-protection go when nobody uses the
// object any more.
//
// Rules: k8s.io/kubernetes/pkg/controller/volume of Kubernetes 1.36 (persistentvolume, attachdetach); a class's
// parameters make the provisioner fail (kRefusesParameter, kSilentParameter).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/sandbox/step.h"

namespace dra::sandbox {

// Parameters of a StorageClass: the provisioner takes selected-node back on this node ("*": on all); answers nobody.
inline constexpr const char* kRefusesParameter = "dra-sandbox/refuses";
inline constexpr const char* kSilentParameter = "dra-sandbox/silent";

// What the passes read. Objects live as long as the pass; nullptr: there is none.
struct VolumeView {
  std::function<const Json*(const std::string&name)> volume, storage_class, node, attachment;
  std::function<const Json*(const std::string& key)> claim;  // "namespace/name"
  std::function<std::vector<const Json*>()> volumes;
  std::function<std::vector<const Json*>(const std::string& key)> pods_of_claim;
};

// "namespace/name" of the claims that a pod's volumes use; generic ephemeral volumes included.
std::vector<std::string> volume_claims_of(const Json& pod);

Step volume_claim_pass(const Json& claim, const VolumeView& view);
Step volume_pass(const Json& volume, const VolumeView& view);
// The attachments that a bound pod still needs.
Step attach_pass(const Json& pod, const VolumeView& view);
// Detaches what no pod on the node uses.
Step attachment_pass(const Json& attachment, const VolumeView& view);
// The claims of an ephemeral volume of a pod that has none yet (kube-controller-manager's ephemeral-volume-controller).
Step ephemeral_pass(const Json& pod, const VolumeView& view);
// All volumes of a bound pod are bound and attached: its kubelet may start it.
bool volumes_ready(const Json& pod, const VolumeView& view);

}  // namespace dra::sandbox
