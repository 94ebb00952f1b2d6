"""Whether a promise breaks a PodDisruptionBudget although victims without a violation could have been had when it was made: from what a cluster's objects were
then, by trying sets of victims from the rules alone (docs/design/preemption.md). For the worlds of real_preempt_test.py: equal devices, the nodes of ours alone.

    history = History()
    history.add("pod", kind, pod)             # every event of the watches of pods, claims and budgets
    judge = Judge(history, nodes, devices, cpu)
    judge.verdict(uid, revision)              # of the promise in the status of this pod, written at this revision: a fault in words, "", or None (not judged)

What a manager knew lies between the state of a second before and that of the write: it is a fault only if it is one in each of these states.
"""
import collections
import itertools
import json
import time

PROMISE = "dra-controller-manager/Promise"
MOST_VICTIMS = 3  # pods, or pairs of a group, that go for one pod: sets of more are not tried; for a group two


def condition(pod, kind):
    return next((c for c in pod.get("status", {}).get("conditions", []) if c["type"] == kind), None)


def cores(pod):
    total = 0
    for container in pod["spec"]["containers"]:
        text = container.get("resources", {}).get("requests", {}).get("cpu", "0")
        total += int(text[:-1]) if text.endswith("m") else 1000 * int(text)
    return total


class History:
    def __init__(self):
        self.events = []  # (revision, when, kind of object, uid, object or None)

    def add(self, what, kind, found):
        meta = found["metadata"]
        self.events.append((int(meta["resourceVersion"]), time.monotonic(), what, meta["uid"], None if kind == "DELETED" else found))

    def until(self, revision):
        """The objects by kind and uid as they were at this revision."""
        newest = {}
        for at, _, what, uid, found in self.events:
            if at <= revision and newest.get((what, uid), (0, None))[0] <= at:
                newest[(what, uid)] = (at, found)
        state = collections.defaultdict(dict)
        for (what, uid), (_, found) in newest.items():
            if found is not None:
                state[what][uid] = found
        return state

    def revisions(self, last, seconds):
        """Those of the seconds before this one, and this one."""
        when = max((t for at, t, *_ in self.events if at <= last), default=0)
        return sorted({at for at, t, *_ in self.events if at <= last and t >= when - seconds})


class State:
    """One state of the cluster, from the point of view of the pods that were promised places."""

    def __init__(self, state, nodes, devices, cpu, owner):
        self.nodes, self.devices, self.cpu = nodes, devices, cpu
        self.pods, self.budgets = state["pod"], list(state["budget"].values())
        self.claims = list(state["claim"].values())
        promise = condition(self.pods[owner], PROMISE) if owner in self.pods else None
        self.record = promise and json.loads(promise["message"])
        self.owner = owner

    def asking(self):
        """The pods that were promised places (uids)."""
        return [p.rsplit("/", 1)[1] for p in self.record.get("places", {})] or [self.owner]

    def runs(self, uid):
        pod = self.pods.get(uid)
        return (pod is not None and pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
                and pod["status"].get("phase") not in ("Succeeded", "Failed"))

    def unit(self, uid):
        """Who leaves with it: members of a Job that is a group leave together."""
        pod = self.pods[uid]
        if "dra-controller-manager/group" not in pod["metadata"].get("annotations", {}):
            return frozenset([uid])
        job = pod["metadata"]["ownerReferences"][0]["uid"]
        return frozenset(u for u, p in self.pods.items() if self.runs(u) and p["metadata"].get("ownerReferences", [{}])[0].get("uid") == job)

    def violations(self, gone, surely):
        """`surely`: only pods that are ready count, as others may not count."""
        broken = 0
        for budget in self.budgets:
            labels, status = budget["spec"]["selector"]["matchLabels"], budget.get("status", {})
            allowed = status.get("disruptionsAllowed", 0) if status.get("observedGeneration", 0) >= budget["metadata"]["generation"] else 0
            counted = 0
            for uid in gone:
                pod = self.pods[uid]
                if any(pod["metadata"].get("labels", {}).get(k) != v for k, v in labels.items()):
                    continue
                ready = condition(pod, "Ready")
                if not surely or (ready and ready["status"] == "True" and pod["metadata"]["name"] not in status.get("disruptedPods", {})):
                    counted += 1
            broken += max(0, counted - allowed)
        return broken

    def room(self, gone):
        """By node: devices and millicores that nobody has when these and all that terminate have left, beside others' promises."""
        free = {node: [{f"gpu-{d}" for d in range(self.devices)}, self.cpu] for node in self.nodes}
        for uid, pod in self.pods.items():
            node = pod["spec"].get("nodeName")
            if node in free and self.runs(uid) and uid not in gone:
                free[node][1] -= cores(pod)
        for claim in self.claims:
            users = [c["uid"] for c in claim.get("status", {}).get("reservedFor", [])]
            if users and all(uid in gone or not self.runs(uid) for uid in users):
                continue
            for result in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", []):
                if result["pool"] in free:
                    free[result["pool"]][0].discard(result["device"])
        for uid, pod in self.pods.items():
            if uid != self.owner and condition(pod, PROMISE) and not pod["metadata"].get("deletionTimestamp"):
                self.keep(json.loads(condition(pod, PROMISE)["message"]), pod, free)
        return free

    def keep(self, record, owner, free):
        for claim in record["allocations"].values():
            for result in claim["devices"]["results"]:
                if result["pool"] in free:
                    free[result["pool"]][0].discard(result["device"])
        places = record.get("places") or {f"default/{owner['metadata']['name']}/{owner['metadata']['uid']}": record["node"]}
        for pod, node in places.items():
            uid = pod.rsplit("/", 1)[1]
            if node in free and uid in self.pods and not self.pods[uid]["spec"].get("nodeName"):
                free[node][1] -= cores(self.pods[uid])

    def placed(self, gone, wants):
        """Whether pods with these wants (devices, millicores), which are equal, fit."""
        free = self.room(gone)
        for devices, cpu in wants:
            node = next((n for n in self.nodes if len(free[n][0]) >= devices and free[n][1] >= cpu), None)
            if node is None:
                return False
            for _ in range(devices):
                free[node][0].pop()
            free[node][1] -= cpu
        return True

    def wants(self):
        """What the pods of the promise ask for; None: not judged here."""
        wants = []
        for uid in self.asking():
            pod = self.pods.get(uid)
            if pod is None or pod["spec"].get("nodeName"):
                return None
            devices = 0
            for claim in pod["spec"].get("resourceClaims", []):
                if "resourceClaimTemplateName" not in claim:
                    return None
                devices += int(claim["resourceClaimTemplateName"].rsplit("-", 1)[1])
            wants.append((devices, cores(pod)))
        return wants

    def alternative(self):
        """A set of victims that breaks no budget, and lets the pods fit."""
        wants = self.wants()
        if wants is None:
            return None
        priority = min(self.pods[u]["spec"].get("priority", 0) for u in self.asking())
        units = {self.unit(u) for u, p in self.pods.items()
                 if self.runs(u) and p["spec"]["schedulerName"] == "ours" and p["spec"].get("priority", 0) < priority and p["spec"]["nodeName"] in self.nodes}
        units = [u for u in units if all(self.pods[p]["spec"].get("priority", 0) < priority for p in u) and self.violations(u, False) == 0]
        # Where one pod goes, only those of its node matter, and who shares something with them.
        wholes = [units] if len(wants) > 1 else [[u for u in units if any(self.pods[p]["spec"]["nodeName"] == node for p in u)] for node in self.nodes]
        for candidates in wholes:
            for count in range(1, (MOST_VICTIMS if len(wants) == 1 else 2) + 1):
                for chosen in itertools.combinations(candidates, count):
                    gone = frozenset().union(*chosen)
                    if self.violations(gone, False) == 0 and self.placed(gone, wants):
                        return sorted(self.pods[p]["metadata"]["name"] for p in gone)
        return []


class Judge:
    def __init__(self, history, nodes, devices, cpu):
        self.history, self.nodes, self.devices, self.cpu = history, nodes, devices, cpu
        self.judged = self.broken = 0

    def verdict(self, owner, revision):
        """Of the promise of this pod (uid), written at this revision: a fault, "" or None where it is not judged."""
        final = self.history.until(revision)
        state = State(final, self.nodes, self.devices, self.cpu, owner)
        if state.record is None or state.wants() is None:
            return None
        victims = {v.rsplit("/", 1)[1] for v in state.record["victims"]}
        self.judged += 1
        if not victims <= set(state.pods) or state.violations(victims, True) == 0:
            return ""
        self.broken += 1
        fault = ""
        revisions = self.history.revisions(revision, 1)
        for at in revisions[::max(1, len(revisions) // 30)] + [revision]:
            before = self.history.until(at)
            before["pod"][owner] = final["pod"][owner]  # its promise is judged among the others of that time
            one = State(before, self.nodes, self.devices, self.cpu, owner)
            if not victims <= set(one.pods) or one.violations(victims, True) == 0:
                return ""
            other = one.alternative()
            if not other:
                return ""
            fault = (f"{final['pod'][owner]['metadata']['name']}: {sorted(one.pods[v]['metadata']['name'] for v in victims)} go for it and break a budget, "
                     f"and {other} would not")
        return fault
