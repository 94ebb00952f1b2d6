// What kube-controller-manager, a CSI provisioner and a CSI attacher do for volumes, as pure passes over the objects.
//
// Claims: bound to a volume that names the claim or, for a class with volumeBindingMode Immediate, to the smallest one
// that fits. Otherwise, unless the class says kubernetes.io/no-provisioner, a volume is provisioned: at once, or for
// WaitForFirstConsumer when volume.kubernetes.io/selected-node names a node, reachable from that node's zone (without a
// zone, from that node alone). Volumes: Available, Bound, Released, or deleted with their claim, by their reclaim
// policy. Attachments: CSI volumes of bound pods get a VolumeAttachment, attached at once; it is deleted with the last
// pod on the node. Finalizers kubernetes.io/pvc-protection and pv-protection are removed when the object is no longer
// used.
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

// Parameters of a StorageClass: the provisioner clears selected-node for this node ("*": for all); never answers.
inline constexpr const char* kRefusesParameter = "dra-sandbox/refuses";
inline constexpr const char* kSilentParameter = "dra-sandbox/silent";

// What the passes read. Objects live as long as the pass; nullptr: absent.
struct VolumeView {
  std::function<const Json*(const std::string&name)> volume, storage_class, node, attachment;
  std::function<const Json*(const std::string& key)> claim;  // "namespace/name"
  std::function<std::vector<const Json*>()> volumes;
  std::function<std::vector<const Json*>(const std::string& key)> pods_of_claim;
};

// "namespace/name" of the claims that a pod's volumes use, including generic ephemeral volumes.
std::vector<std::string> volume_claims_of(const Json& pod);

Step volume_claim_pass(const Json& claim, const VolumeView& view);
Step volume_pass(const Json& volume, const VolumeView& view);
// Creates the attachments that a bound pod lacks.
Step attach_pass(const Json& pod, const VolumeView& view);
// Detaches a volume that no pod on the node uses.
Step attachment_pass(const Json& attachment, const VolumeView& view);
// Creates missing claims of a pod's ephemeral volumes (kube-controller-manager's ephemeral-volume-controller).
Step ephemeral_pass(const Json& pod, const VolumeView& view);
// All volumes of a bound pod are bound and attached: its kubelet may start it.
bool volumes_ready(const Json& pod, const VolumeView& view);

}  // namespace dra::sandbox
