// The tables behind reasons.h: what each reason means to a reader of `kubectl describe`, in words for users.
#pragma once

#include <array>
#include <string_view>

namespace dra::reconcile {

struct EventMeaning {
  std::string_view reason;
  std::string_view type;  // "Normal" or "Warning"
  std::string_view on;    // kinds
  std::string_view meaning;
  std::string_view what_to_do;  // empty: nothing
};

struct ConditionMeaning {
  std::string_view type;
  std::string_view on;
  std::string_view status;
  std::string_view reason;
  std::string_view meaning;
};

// In the order of their names.
inline constexpr std::array kEventMeanings = std::to_array<EventMeaning>({
    {"Allocated", "Normal", "Pod",
     "The pod has its devices. The note names them, the node where it is known, and whether the gate is lifted. Once a "
     "pod, in both modes",
     ""},
    {"AllocationInSlices", "Warning", "Pod",
     "Devices for the pod take long to find, or its selectors long to evaluate. The work goes on between that of other "
     "pods",
     "Fewer alternatives, requests or costly selectors make it faster"},
    {"AllocationReplaced", "Warning", "ResourceClaim",
     "Somebody else replaced an allocation of this manager while a pod uses it",
     "Find who else allocates devices of the driver (docs/install.md, exclusivity)"},
    {"AllocationUndecided", "Warning", "Pod",
     "The search for devices spent its budget of steps without an answer. It is tried again with twice as many",
     "Ask for less, or raise `--allocation-step-budget`"},
    {"AnnouncementIgnored", "Warning", "Pod",
     "The pod bore an annotation of ours that somebody else wrote. It is removed",
     "Install the admission policies, which refuse such writes"},
    {"BindingConditions", "Warning", "Pod",
     "Gate mode: a device of the pod has binding conditions. If one fails, kube-scheduler allocates again, unproven",
     "Use bind mode for such devices"},
    {"BindingConditionsFailed", "Warning", "Pod",
     "Bind mode: the driver could not prepare a device. Other devices are tried, unless others allocated this one",
     "The note has the driver's message"},
    {"BindingConditionsPending", "Warning", "Pod", "Bind mode: the driver still prepares a device of the pod", ""},
    {"BindingRefused", "Warning", "Pod",
     "Bind mode: the pod was bound, and the kubelet of its node did not admit it. The note quotes the kubelet",
     "Dedicate the nodes to one scheduler by a taint; docs/install.md, \"How a node is chosen\""},
    {"ClaimSuperseded", "Warning", "Pod",
     "A claim is reserved for the pod, which does not name it any more. Its devices stay taken until the pod ends",
     "Delete the pod to free them"},
    {"ClaimTemplatesDisputed", "Warning", "Lease",
     "`--claim-templates=own`, but somebody else makes claims from templates, too. This manager makes none meanwhile",
     "Switch the other one off, or say `--claim-templates=observe`"},
    {"ClaimTemplatesSettled", "Normal", "Lease", "The dispute over claims from templates is over: they are made here",
     ""},
    {"DeletionWaits", "Warning", "ResourceClaim",
     "The claim is being deleted and keeps its devices, because a pod that may use them is still there",
     "Delete the pods that name the claim"},
    {"DeviceConflict", "Warning", "Pod, ResourceClaim",
     "A device of the pod was given to another claim, too, or another name of the same hardware was. The pod stays "
     "gated (in bind mode: unbound), so that both do not run. On a claim: the audit found two names of one piece of "
     "hardware held; nothing undoes it",
     "Find who else allocates devices of the driver (docs/install.md, exclusivity)"},
    {"DeviceOverCommitted", "Warning", "ResourceClaim",
     "A device, counter or capacity that the claim holds is given out more often than it exists",
     "Delete one of the claims' pods; docs/install.md, exclusivity, says how to prevent it"},
    {"DeviceTaintManagerEviction", "Normal", "Pod",
     "The pod is evicted because of a device's NoExecute taint, will be at the time in the note, or is not any more",
     ""},
    {"DeviceTaintNotEvicted", "Warning", "Pod",
     "`--device-taint-eviction=observe`: the pod should have been evicted, and kube-controller-manager left it",
     "Switch its device-taint-eviction-controller on, or say `--device-taint-eviction=own`"},
    {"DeviceTrouble", "Warning", "Pod, ResourceClaim",
     "A device in use is gone from the slices, its driver is absent for a minute, could not prepare it (condition "
     "Ready "
     "in the claim's status), or reports it as unhealthy (allocatedResourcesStatus of the pod); reported once per "
     "change, "
     "and as Normal once it is over",
     "Look at the driver on the node: some drivers withdraw devices in use, and pods that run are left alone. `kubectl "
     "dra explain` says what helps the others"},
    {"DevicesKept", "Warning", "ResourceClaim",
     "No pod that is known to use the claim is left, but it keeps its devices: a running pod of its namespace has more "
     "claims than are checked, and may use it",
     "Use fewer or shorter entries in `spec.resourceClaims` of that pod (see the pod's limits in docs/sizing.md)"},
    {"EvictionsWait", "Warning", "DeviceTaintRule",
     "The rule would evict more pods than `--max-evictions-per-rule`: none is evicted",
     "The note names the annotation that lets the evictions begin"},
    {"ExtendedResource", "Warning", "Pod",
     "Gate mode: the pod asks for an extended resource that no node advertises, or that claims provide here only in "
     "bind mode",
     "The note says what to change"},
    {"FailedAllocation", "Warning", "Pod, ResourceClaim",
     "No node has the devices, or the claim cannot be allocated as it is. The main obstacle is named first",
     "[why-pending.md](../why-pending.md), `kubectl dra explain`"},
    {"FailedReservation", "Warning", "Pod", "A claim of the pod has as many consumers as it can have",
     "Give some pods a claim of their own"},
    {"FailedResourceClaimCreation", "Warning", "Pod",
     "A claim of the pod cannot be made: its template is missing or cannot be read, or the API server refused it",
     "The note names the template or quotes the server"},
    {"FailedScheduling", "Warning", "Pod",
     "No node may run the pod, or its volumes could not be bound. The nodes are counted by what is wrong with them",
     "[why-pending.md](../why-pending.md), `kubectl dra explain`"},
    {"GateReleased", "Normal", "Pod",
     "`--release-gates`: the pod's gate is lifted although it has no devices, before the manager is uninstalled",
     "kube-scheduler allocates them; without a scheduler that does, the pod waits"},
    {"GateStays", "Warning", "Pod", "Observe mode: the pod carries our gate, which this mode does not lift",
     "Say `--scheduling=gate`, or make the pod without the gate"},
    {"GroupIgnored", "Warning", "Pod",
     "The pod's group cannot be used (its API is not served, its count is malformed, or there is no Job), so the pod "
     "is placed alone",
     "The note says what to change"},
    {"GroupWaits", "Warning", "Pod",
     "The pod belongs to a group that is placed together or not at all, and the group cannot be placed yet. On one pod "
     "of the group, once a change",
     "The note says what is missing"},
    {"KeepEnded", "Normal", "ResourceClaim",
     "The devices of the claim, which no pod used, are not kept any longer (`keep-devices`): the note says why", ""},
    {"KeepRefused", "Warning", "ResourceClaim",
     "The annotation `keep-devices` asks in vain: its value cannot be read, the claim ends with a pod that has no "
     "controller, or the server is too old",
     "The note says what to write instead; [keep.md](keep.md)"},
    {"KeepingDevices", "Normal", "ResourceClaim",
     "The last pod of the claim is gone, and the claim keeps its devices for a while, as its annotation `keep-devices` "
     "says",
     ""},
    {"KeptDevicesTaken", "Warning", "ResourceClaim",
     "A pod of a higher priority fits nowhere without the devices that the claim kept: the claim is freed",
     "The next pod of the claim gets other devices"},
    {"Moved", "Normal", "Pod",
     "`--defragment=on`: the pod is evicted so that another one fits, which the note names; for the next pod of its "
     "controller a place is kept",
     "Annotation `dra-controller-manager/do-not-move: \"true\"` keeps a pod where it is"},
    {"MovesAdvised", "Normal", "Pod",
     "`--defragment=advice`: the pod would fit if the pods in the note moved, each to the place that it names; nobody "
     "moves them",
     "Move them, the first one first, or leave it; docs/user/preemption.md"},
    {"MovesEnded", "Normal", "Pod",
     "`--defragment=on`: the plan by which others would move for the pod does not stand any more; the note says why",
     ""},
    {"MovesHeldBack", "Normal", "Pod",
     "`--defragment`: moves would make the pod fit, but are neither advised nor made, or whether they would is not "
     "known, for the reason in the note",
     "The note names the limit, or what searches further; docs/user/preemption.md"},
    {"Moving", "Normal", "Pod",
     "`--defragment=on`: others are evicted so that the pod fits, each to a place of its own, which the note names",
     ""},
    {"NotRecovered", "Warning", "Pod",
     "`--recover-failed-prepares=on`: the devices of the pod could not be prepared three times, and it is not made "
     "anew, "
     "for the reason in the note",
     "The note says what helps; docs/user/recovery.md"},
    {"PairsNotHonoured", "Warning", "Pod",
     "The pod, or a claim of it, asks for pairs or for the same rails, and another scheduler places the pod: nobody "
     "looks at the annotation. Once a pod",
     "Give the pod the scheduling gate (docs/user/pairs.md), or remove the annotation"},
    {"ParametersNeedGate", "Normal", "Pod",
     "Parameters of the pod's claim, or of its class, work only with a feature gate of the driver that is off by "
     "default",
     "Switch the gate on in the driver's installation, if it is off; else nothing"},
    {"ParametersRefused", "Warning", "Pod",
     "The driver will refuse the parameters of the pod's claim, or of its class, when the pod starts. Only for drivers "
     "whose parameters are known here (`kubectl dra lint`)",
     "The note has the field and what to write: mend it, and make the claim and the pod anew"},
    {"PinnedPodEvicted", "Warning", "Pod",
     "`--recreate-pinned-pods`: kube-scheduler did not place the pod for 10 minutes where its devices are. Its "
     "controller makes another",
     ""},
    {"PinnedUnschedulable", "Warning", "Pod",
     "The pod has its devices, and kube-scheduler cannot place it on their node. The note quotes kube-scheduler",
     "Delete the pod to free the devices, or make room on the node"},
    {"PodRecovered", "Warning", "Pod",
     "`--recover-failed-prepares=on`: the devices of the pod could not be prepared three times. It is evicted, and its "
     "controller makes another, which gets other devices",
     "The note has the words of kubelet or the driver: look at the driver on that node"},
    {"Preempted", "Normal", "Pod",
     "`--preemption=on`: the pod is deleted so that a pod of higher priority gets its place. The note says which, "
     "where, "
     "and why this one goes",
     "Its controller makes another; docs/user/preemption.md says who is never taken"},
    {"Preempting", "Normal", "Pod",
     "`--preemption=on`: the pod takes the place of pods of lower priority, which the note names with their budgets",
     ""},
    {"PreemptionAdvised", "Normal", "Pod",
     "`--preemption=on`: the pod would fit if the pods in the note went, but nobody is evicted for it, for the reason "
     "in the note",
     "The note says what would change that; docs/user/preemption.md"},
    {"PreferenceIgnored", "Warning", "ResourceClaim",
     "A part of the annotation `dra-controller-manager/prefer` is not understood, or too much",
     "Write `same:<attribute>=<weight>`, separated by commas (docs/user/strategies.md)"},
    {"PromiseEnded", "Normal", "Pod",
     "`--preemption=on`: what the pod was promised does not stand any more; the note says why. It chooses again", ""},
    {"RequestsFail", "Warning", "Pod, Lease",
     "Requests of one kind fail, as `patch Pod` with 403. On the Lease one event a cause, however many objects; on "
     "each "
     "pod that waits for it one event, once it has lasted for 15 s and while the server answers",
     "The note has the server's message: look at the webhook that it names; upgrade the release where a permission is "
     "missing"},
    {"RequestsSucceed", "Normal", "Lease", "Requests of that kind succeed again", ""},
    {"Scheduled", "Normal", "Pod", "Bind mode: the pod was bound to the node", ""},
    {"TakesKeptDevices", "Normal", "Pod",
     "The pod fits nowhere without devices that claims of a lower priority keep and no pod uses, or takes over those "
     "of "
     "an earlier pod of its controller: these claims are freed",
     ""},
    {"TopologyIgnored", "Warning", "Pod",
     "A topology annotation is not the key of a label, or no node has the preferred label",
     "docs/user/groups.md, \"Near each other\""},
    {"UnknownField", "Warning", "ResourceSlice, DeviceClass",
     "The object has a field that this version does not know or support. What has it is not allocated, because the "
     "field could forbid it; what is allocated already stays",
     "Upgrade the manager, or ignore the field by `--ignore-unknown-fields` (docs/design/unknown-fields.md)"},
    {"UnknownStrategy", "Warning", "DeviceClass",
     "The annotation dra-controller-manager/strategy of the class does not name a strategy and was ignored",
     "Use first-fit, best-fit, pack or spread"},
    {"WaitingForVolumes", "Warning", "Pod",
     "Bind mode: the pod has devices and a node, and its volumes are not bound yet",
     "The note names the volume claims; look at their events"},
    {"WriteRefused", "Warning", "Pod, ResourceClaim, DeviceTaintRule",
     "The API server or an admission policy refused a write about the object", "The note quotes it"},
});

// By type, then in the order in which they come.
inline constexpr std::array kConditionMeanings = std::to_array<ConditionMeaning>({
    {"dra-controller-manager/Allocated", "Pod", "False", "Unschedulable",
     "The pod carries our gate and waits; the message is the current sentence of why. Written after 30 s of waiting, "
     "at "
     "most every 30 s"},
    {"dra-controller-manager/Allocated", "Pod", "False", "RequestsFail",
     "A request for the pod has failed for more than 15 s, at which the server answers; the message quotes it"},
    {"dra-controller-manager/Allocated", "Pod", "True", "Allocated",
     "Its devices and node. Written only where False was"},
    {"PodScheduled", "Pod", "False", "Unschedulable",
     "Bind mode: the pod waits; the message says why. The same condition as kube-scheduler's, so autoscalers act on "
     "it. Written at once for 100 pods, then for 50 a second, 10 of a namespace, oldest first; later sentences at most "
     "every 30 s"},
    {"PodScheduled", "Pod", "False", "SchedulerError",
     "Bind mode: a request for the pod has failed for more than 15 s, at which the server answers; the message quotes "
     "it"},
    {"dra-controller-manager/Promise", "Pod", "Unknown", "Promised",
     "`--preemption=on`: the place that the pod, or each member of its group, gets when pods of lower priority have "
     "gone, and who they are; not "
     "proven yet, so nobody goes for it. The message is for the manager"},
    {"dra-controller-manager/Promise", "Pod", "True", "Promised",
     "The same, proven: those who are named go, one by one. It ends when the pod, or the group, is bound, or when it "
     "no longer stands"},
    {"DisruptionTarget", "Pod", "True", "PreemptionByScheduler",
     "The pod is about to be deleted: a pod of higher priority takes its place (`--preemption=on`)"},
    {"DisruptionTarget", "Pod", "True", "DeletionByDeviceTaintManager",
     "The pod is about to be deleted because of a device's NoExecute taint"},
    {"EvictionInProgress", "DeviceTaintRule", "False", "NotStarted", "No pod had to go because of the rule"},
    {"EvictionInProgress", "DeviceTaintRule", "True", "PodsPendingEviction", "Pods are still to be evicted"},
    {"EvictionInProgress", "DeviceTaintRule", "False", "Completed", "Pods were evicted, and none is left"},
    {"EvictionInProgress", "DeviceTaintRule", "False", "WaitsForApproval",
     "The rule would evict more pods than `--max-evictions-per-rule`; the message names the annotation that allows it"},
    {"EvictionInProgress", "DeviceTaintRule", "False", "NoEffect",
     "Effect None: the message counts the devices and pods that NoExecute would concern"},
    {"EvictionInProgress", "DeviceTaintRule", "False", "OtherEffect", "The effect is not NoExecute"},
});

}  // namespace dra::reconcile
