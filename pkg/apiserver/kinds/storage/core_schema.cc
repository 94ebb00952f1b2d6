#include "pkg/apiserver/kinds/storage/tables.h"

namespace dra::apiserver {

// k8s.io/api/core/v1 of 1.36: volumes and claims.
std::string_view core_volume_table() {
  return R"(
type PersistentVolume
1 metadata ObjectMeta
2 spec PersistentVolumeSpec
3 status PersistentVolumeStatus

type PersistentVolumeClaim
1 metadata ObjectMeta
2 spec PersistentVolumeClaimSpec
3 status PersistentVolumeClaimStatus

type TopologySelectorTerm atomic
1 matchLabelExpressions []TopologySelectorLabelRequirement

type PersistentVolumeSpec
1 capacity map[string]Quantity
2 persistentVolumeSource PersistentVolumeSource inline
3 accessModes []string
4 claimRef *ObjectReference
5 persistentVolumeReclaimPolicy string
6 storageClassName string
7 mountOptions []string
8 volumeMode *string
9 nodeAffinity *VolumeNodeAffinity
10 volumeAttributesClassName *string

type PersistentVolumeStatus
1 phase string
2 message string
3 reason string
4 lastPhaseTransitionTime *Time

type PersistentVolumeClaimStatus
1 phase string
2 accessModes []string
3 capacity map[string]Quantity
4 conditions []PersistentVolumeClaimCondition map=type merge=type
5 allocatedResources map[string]Quantity
7 allocatedResourceStatuses map[string]string
8 currentVolumeAttributesClassName *string
9 modifyVolumeStatus *ModifyVolumeStatus

type TopologySelectorLabelRequirement
1 key string !
2 values []string !

type PersistentVolumeSource
1 gcePersistentDisk *GCEPersistentDiskVolumeSource
2 awsElasticBlockStore *AWSElasticBlockStoreVolumeSource
3 hostPath *HostPathVolumeSource
4 glusterfs *GlusterfsPersistentVolumeSource
5 nfs *NFSVolumeSource
6 rbd *RBDPersistentVolumeSource
7 iscsi *ISCSIPersistentVolumeSource
8 cinder *CinderPersistentVolumeSource
9 cephfs *CephFSPersistentVolumeSource
10 fc *FCVolumeSource
11 flocker *FlockerVolumeSource
12 flexVolume *FlexPersistentVolumeSource
13 azureFile *AzureFilePersistentVolumeSource
14 vsphereVolume *VsphereVirtualDiskVolumeSource
15 quobyte *QuobyteVolumeSource
16 azureDisk *AzureDiskVolumeSource
17 photonPersistentDisk *PhotonPersistentDiskVolumeSource
18 portworxVolume *PortworxVolumeSource
19 scaleIO *ScaleIOPersistentVolumeSource
20 local *LocalVolumeSource
21 storageos *StorageOSPersistentVolumeSource
22 csi *CSIPersistentVolumeSource

type VolumeNodeAffinity
1 required *NodeSelector

type PersistentVolumeClaimCondition
1 type string !
2 status string !
3 lastProbeTime Time !
4 lastTransitionTime Time !
5 reason string
6 message string

type ModifyVolumeStatus
1 targetVolumeAttributesClassName string
2 status string !

type GlusterfsPersistentVolumeSource
1 endpoints string !
2 path string !
3 readOnly bool
4 endpointsNamespace *string

type RBDPersistentVolumeSource
1 monitors []string !
2 image string !
3 fsType string
4 pool string
5 user string
6 keyring string
7 secretRef *SecretReference
8 readOnly bool

type ISCSIPersistentVolumeSource
1 targetPortal string !
2 iqn string !
3 lun int32 !
4 iscsiInterface string
5 fsType string
6 readOnly bool
7 portals []string
8 chapAuthDiscovery bool
11 chapAuthSession bool
10 secretRef *SecretReference
12 initiatorName *string

type CinderPersistentVolumeSource
1 volumeID string !
2 fsType string
3 readOnly bool
4 secretRef *SecretReference

type CephFSPersistentVolumeSource
1 monitors []string !
2 path string
3 user string
4 secretFile string
5 secretRef *SecretReference
6 readOnly bool

type FlexPersistentVolumeSource
1 driver string !
2 fsType string
3 secretRef *SecretReference
4 readOnly bool
5 options map[string]string

type AzureFilePersistentVolumeSource
1 secretName string !
2 shareName string !
3 readOnly bool
4 secretNamespace *string !

type ScaleIOPersistentVolumeSource
1 gateway string !
2 system string !
3 secretRef *SecretReference !
4 sslEnabled bool
5 protectionDomain string
6 storagePool string
7 storageMode string
8 volumeName string
9 fsType string
10 readOnly bool

type LocalVolumeSource
1 path string !
2 fsType *string

type StorageOSPersistentVolumeSource
1 volumeName string
2 volumeNamespace string
3 fsType string
4 readOnly bool
5 secretRef *ObjectReference

type CSIPersistentVolumeSource
1 driver string !
2 volumeHandle string !
3 readOnly bool
4 fsType string
5 volumeAttributes map[string]string
6 controllerPublishSecretRef *SecretReference
7 nodeStageSecretRef *SecretReference
8 nodePublishSecretRef *SecretReference
9 controllerExpandSecretRef *SecretReference
10 nodeExpandSecretRef *SecretReference

type SecretReference atomic
1 name string
2 namespace string
)";
}

}  // namespace dra::apiserver
