#include "pkg/apiserver/kinds/storage/tables.h"

namespace dra::apiserver {

// k8s.io/api/storage/v1 of 1.36.
std::string_view storage_table() {
  return R"(
type StorageClass
1 metadata ObjectMeta
2 provisioner string !
3 parameters map[string]string
4 reclaimPolicy *string
5 mountOptions []string
6 allowVolumeExpansion *bool
7 volumeBindingMode *string
8 allowedTopologies []core/v1.TopologySelectorTerm

type CSINode
1 metadata ObjectMeta
2 spec CSINodeSpec

type CSIDriver
1 metadata ObjectMeta
2 spec CSIDriverSpec

type CSIStorageCapacity
1 metadata ObjectMeta
2 nodeTopology *LabelSelector
3 storageClassName string !
4 capacity *Quantity
5 maximumVolumeSize *Quantity

type VolumeAttachment
1 metadata ObjectMeta
2 spec VolumeAttachmentSpec
3 status VolumeAttachmentStatus

type VolumeAttributesClass
1 metadata ObjectMeta
2 driverName string !
3 parameters map[string]string

type CSINodeSpec
1 drivers []CSINodeDriver ! map=name merge=name

type CSIDriverSpec
1 attachRequired *bool
2 podInfoOnMount *bool
3 volumeLifecycleModes []string set
4 storageCapacity *bool
5 fsGroupPolicy *string
6 tokenRequests []TokenRequest
7 requiresRepublish *bool
8 seLinuxMount *bool
9 nodeAllocatableUpdatePeriodSeconds *int64
10 serviceAccountTokenInSecrets *bool
11 preventPodSchedulingIfMissing *bool

type VolumeAttachmentSpec
1 attacher string !
2 source VolumeAttachmentSource
3 nodeName string !

type VolumeAttachmentStatus
1 attached bool !
2 attachmentMetadata map[string]string
3 attachError *VolumeError
4 detachError *VolumeError

type CSINodeDriver
1 name string !
2 nodeID string !
3 topologyKeys []string !
4 allocatable *VolumeNodeResources

type TokenRequest
1 audience string !
2 expirationSeconds *int64

type VolumeAttachmentSource
1 persistentVolumeName *string
2 inlineVolumeSpec *core/v1.PersistentVolumeSpec

type VolumeError
1 time Time !
2 message string
3 errorCode *int32

type VolumeNodeResources
1 count *int32
)";
}

}  // namespace dra::apiserver
