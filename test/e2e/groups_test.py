#!/usr/bin/env python3
"""Groups of pods in the sandbox (`dra-sandbox up`, PodGroups of scheduling.k8s.io/v1alpha2): invalid ones, ones that change while they are decided, and shared
devices. Checked all the time: no device twice, and no pod of a group runs before the required number of members has devices. In bind mode, then in
gate mode.

Usage: groups_test.py FOLDER_OF_PROGRAMS [--mode bind|gate] [PART ...]"""
import collections
import os
import random
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import sandbox  # noqa: E402

FLEET = """
kind: Fleet
deviceClasses:
- {name: gpu, selectors: ['device.driver == "gpu.example.com"']}
- {name: link, selectors: ['device.driver == "link.example.com"']}
- {name: card, selectors: ['device.driver == "card.example.com"']}
models:
  gpu: {driver: gpu.example.com, name: "gpu-{device}"}
  link: {driver: link.example.com, name: "link-{device}"}
  card:
    driver: card.example.com
    name: "card-{device}"
    attributes: {type: card}
    capacity: {memory: 4Gi}
    partitions:
      name: "card-{device}-{profile}-{start}"
      counterSet: "card-{device}"
      memorySlices: 4
      attributes: {type: part}
      profiles:
      - {name: half, id: 1, size: 2, starts: [0, 2], capacity: {memory: 2Gi}}
      - {name: quarter, id: 2, size: 1, starts: [0, 1, 2, 3], capacity: {memory: 1Gi}}
  broken: {driver: card.example.com, name: "broken-{device}", attributes: {type: card}, taints: [{key: example.com/ecc, effect: NoSchedule}]}
nodes:
- {name: "node-{index}", count: 4, labels: {example.com/rack: "r{index}"}, devices: [{model: gpu, count: 4}, {model: link, count: 1}]}
- {name: "parts-{index}", count: 2, devices: [{model: card, count: 2}, {model: broken, count: 1}]}
"""
GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/{}/podgroups"
PODS = "/api/v1/namespaces/{}/pods"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
PATCH = "application/merge-patch+json"
GATES = []  # of pods, in gate mode


def group(name, count, key=None, **metadata):
    spec = {"schedulingPolicy": {"gang": {"minCount": count}}}
    if key:
        spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    return {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": name, **metadata}, "spec": spec}


def alone(name, template):
    made = rest.pod(name, template)
    made["spec"]["schedulingGates"] = [{"name": gate} for gate in GATES]
    return made


def member(name, of, template, **spec):
    made = alone(name, template)
    made["spec"].update({"schedulingGroup": {"podGroupName": of}, "terminationGracePeriodSeconds": 0, **spec})
    return made


class Test:
    def __init__(self, api):
        self.api, self.failed, self.passed, self.begin = api, 0, 0, time.monotonic()

    def check(self, what, ok, detail=""):
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        print(f"{time.monotonic() - self.begin:5.1f} s {'ok: ' if ok else 'FAILED: '}{what}" + ("" if ok else f"\n{str(detail)[:1500]}"), flush=True)

    def eventually(self, what, condition, seconds=40):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return self.check(what, True)
            time.sleep(0.2)
        return self.check(what, False, (self.running(), self.messages()))

    def running(self, ns="default"):
        return sorted(p["metadata"]["name"] for p in self.api.items(PODS.format(ns)) if p["status"].get("phase") == "Running")

    def node_of(self, name):
        return self.api.get(PODS.format("default") + "/" + name)["spec"].get("nodeName")

    def messages(self, ns="default"):
        return [f"{e['reason']}: {e['note']}" for e in self.api.items(f"/apis/events.k8s.io/v1/namespaces/{ns}/events")
                if e["reason"] in ("GroupWaits", "GroupIgnored", "TopologyIgnored")]

    def says(self, what, words, ns="default"):
        self.eventually(what, lambda: any(words in text for text in self.messages(ns)))

    def held(self):
        out = collections.defaultdict(list)
        for claim in self.api.items("/apis/resource.k8s.io/v1/resourceclaims"):
            for device in rest.devices_of(claim):
                out[device].append(claim["metadata"]["name"])
        return out

    def nothing_held(self, what):
        time.sleep(1)
        held = self.held()
        self.check(what, not held, held)

    def create(self, path, *objects, ns="default"):
        self.api.many([lambda o=o: self.api.create(path.format(ns), o) for o in objects])

    def clear(self, ns="default"):
        for path in (PODS, GROUPS, CLAIMS):
            for one in self.api.items(path.format(ns)):
                if path != CLAIMS or not one["metadata"].get("ownerReferences"):
                    self.api.request("DELETE", path.format(ns) + "/" + one["metadata"]["name"])
        self.eventually("all comes back", lambda: not self.held() and not self.api.items(PODS.format(ns)))


def absurd(t):
    t.create(GROUPS, group("huge", 20), group("short", 6), group("nowhere", 2, "example.com/none"), group("endless", 2_000_000_000))
    t.create(PODS, *[member(f"huge-{i}", "huge", "one") for i in range(20)])
    t.says("a group larger than the cluster gets an event that says so", "too little even if all devices were free")
    t.create(PODS, *[member(f"short-{i}", "short", "one") for i in range(4)])
    t.says("so is one with fewer members than must be there", "4 of 6 members")
    t.create(PODS, *[member(f"nowhere-{i}", "nowhere", "one") for i in range(2)])
    t.says("so is one that must share a label that no node has", "has the label example.com/none")
    t.create(PODS, *[member(f"endless-{i}", "endless", "one") for i in range(2)])
    t.says("a count beyond all bounds is refused by number", "2000000000")
    t.create(PODS, *[member(f"lost-{i}", "missing", "one") for i in range(2)])
    t.says("so is one that does not exist", "does not exist")
    t.nothing_held("none of them holds anything")
    t.create(PODS, alone("alone", "one"))
    t.eventually("and none is in the way of others", lambda: t.running() == ["alone"])
    t.clear()


def namespaces(t):
    t.api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    t.create("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates", rest.template("one"), ns="other")
    t.create(GROUPS, group("both", 2))
    t.create(PODS, member("here", "both", "one"))
    t.create(PODS, member("there", "both", "one"), ns="other")
    t.says("pods of two namespaces are not a group", "does not exist", "other")
    t.says("each is missed by the other", "1 of 2 members")
    t.nothing_held("neither holds anything")
    t.clear()
    t.clear("other")


def changes(t):
    t.create(GROUPS, group("g", 20))
    t.create(PODS, *[member(f"g-{i}", "g", "one") for i in range(20)])
    t.says("a group of 20 waits", "20 members must be placed together")
    t.api.request("DELETE", GROUPS.format("default") + "/g")
    t.says("its PodGroup is deleted", "does not exist")
    t.create(GROUPS, group("g", 16))
    t.eventually("made again with a smaller count it runs", lambda: len(t.running()) == 16)
    for name in t.running()[:3]:
        t.api.request("DELETE", PODS.format("default") + "/" + name)
    t.eventually("members that wait take the places of those that go", lambda: len(t.running()) == 16)
    t.clear()
    t.create(GROUPS, group("s", 16))
    t.create(PODS, *[member(f"s-{i}", "s", "one") for i in range(15)], alone("other", "one"))
    t.says("a member is missing", "15 of 16 members")
    t.create(PODS, member("s-15", "s", "one"))
    t.says("the place of one is taken", "16 members must be placed together")
    t.api.request("DELETE", PODS.format("default") + "/other")
    t.eventually("and when it is free all start", lambda: len(t.running()) == 16)
    t.api.request("DELETE", GROUPS.format("default") + "/s")
    time.sleep(1)
    t.check("a PodGroup that goes takes nothing from those that run", len(t.running()) == 16)
    t.clear()


def cordons(t):
    nodes = [f"/api/v1/nodes/node-{i}" for i in range(4)]
    t.api.request("PATCH", nodes[3], {"spec": {"unschedulable": True}}, PATCH)
    t.create(GROUPS, group("c", 16))
    t.create(PODS, *[member(f"c-{i}", "c", "one", priority=None) for i in range(16)])
    t.says("a cordon keeps a group from starting", "12 of 16 members")
    t.check("which is not forever", not any("group default/c" in text and "never can" in text for text in t.messages()))
    t.nothing_held("which holds nothing meanwhile")
    t.api.request("PATCH", nodes[3], {"spec": {"unschedulable": None}}, PATCH)
    # While it is being decided or written, whichever comes first.
    t.api.request("PATCH", nodes[0], {"spec": {"unschedulable": True}}, PATCH)
    time.sleep(0.5)
    some = len(t.running())
    t.check("all or none, whenever the cordon comes", some in (0, 16) or len(t.held()) == 16, some)
    t.api.request("PATCH", nodes[0], {"spec": {"unschedulable": None}}, PATCH)
    t.eventually("without cordons all run", lambda: len(t.running()) == 16, 60)
    t.clear()


def together(t):
    t.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100})
    t.api.create("/apis/storage.k8s.io/v1/storageclasses", {
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"})
    t.api.create(CLAIMS.format("default"), {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "link"},
                                            "spec": {"devices": {"requests": [{"name": "l", "exactly": {"deviceClassName": "link"}}]}}})
    t.api.create("/api/v1/namespaces/default/persistentvolumeclaims",
                 {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
                  "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}})
    t.create(GROUPS, group("share", 4))
    pods = [member(f"share-{i}", "share", "one", **({"priorityClassName": "high"} if i == 0 else {})) for i in range(4)]
    for pod in pods:
        pod["spec"]["resourceClaims"].append({"name": "link", "resourceClaimName": "link"})
        pod["spec"]["containers"][0]["resources"]["claims"].append({"name": "link"})
    pods[1]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    t.create(PODS, *pods)
    t.eventually("members that share a claim, one with a volume, one with a higher priority, all run", lambda: len(t.running()) == 4, 60)
    t.check("on the node of the shared device", len({t.node_of(f"share-{i}") for i in range(4)}) == 1)
    t.clear()


def near(t):
    t.create(GROUPS, group("rack", 3, "example.com/rack"))
    t.create(PODS, *[member(f"rack-{i}", "rack", "one") for i in range(3)])
    t.eventually("a group in one rack runs", lambda: len(t.running()) == 3)
    node = t.node_of("rack-0")
    t.check("in one rack", {t.node_of(f"rack-{i}") for i in range(3)} == {node})
    t.api.request("DELETE", PODS.format("default") + "/rack-1")
    t.create(PODS, member("rack-3", "rack", "one"))
    t.eventually("a member that comes again", lambda: t.running() == ["rack-0", "rack-2", "rack-3"])
    t.check("comes to the rack of the group", t.node_of("rack-3") == node)
    t.clear()


def preferences(t):
    """Values of `prefer` that are cyclic, contradictory, too long or invalid."""
    long_text = ", ".join(f"same:a.example.com/x{i}" for i in range(2_400))  # the whole template takes less than 64 KiB
    for i, text in enumerate(["same:a.example.com/x, same:b.example.com/x, same:a.example.com/x=100, same:b.example.com/x=-1", long_text,
                              "same:same:same:, , =, same:=5, different:x", "same:gpu.example.com/none=100"]):
        made = rest.template(f"absurd-{i}", count=2)
        made["spec"]["metadata"] = {"annotations": {"dra-controller-manager/prefer": text}}
        t.create("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates", made)
        t.create(GROUPS, group(f"p{i}", 4))
        t.create(PODS, *[member(f"p{i}-{m}", f"p{i}", f"absurd-{i}") for m in range(4)])
        t.eventually(f"a group with absurd preferences runs ({text[:40]!r}, {len(text)} bytes)", lambda: len(t.running()) == 4, 20)
        t.clear()


def partitions(t):
    """best-fit, partitions of shared counters and tainted devices in one group."""
    for name, kind in (("whole", "card"), ("part", "part")):
        body = {"deviceClassName": "card", "selectors": [{"cel": {"expression": f'device.attributes["card.example.com"].type == "{kind}"'}}]}
        made = rest.template(name)
        made["spec"]["spec"]["devices"]["requests"] = [{"name": "gpu", "exactly": body}]
        t.create("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates", made)
    # Four cards: two whole ones, and two cut into four quarters each (or halves) for eight parts, if those suffice.
    t.create(GROUPS, group("mixed", 8))
    t.create(PODS, *[member(f"mixed-{i}", "mixed", "whole" if i < 2 else "part") for i in range(8)])
    t.eventually("two whole cards and six parts of others run together", lambda: len(t.running()) == 8, 20)
    cards = collections.Counter()
    for driver, pool, device in t.held():
        cards[(pool, device.split("-")[1])] += 1
        t.check(f"{device} is not tainted", not device.startswith("broken"))
    t.check("no card is whole and cut at once", all(count == 1 or not any(d == f"card-{card}" and p == pool for _, p, d in t.held()) for (pool, card), count in cards.items()), cards)
    t.clear()
    t.create(GROUPS, group("five", 5))
    t.create(PODS, *[member(f"five-{i}", "five", "whole") for i in range(5)])
    t.says("five whole cards are more than there are without taints", "5 members must be placed together")
    t.nothing_held("and nothing is held for them")
    t.clear()


def one_domain(t):
    """Two groups that must each be in one rack, with capacity for one group: never half of each."""
    t.create(GROUPS, *[group(f"fill-{i}", 4, "example.com/rack") for i in range(3)])
    for i in range(3):
        t.create(PODS, *[member(f"fill-{i}-{m}", f"fill-{i}", "one") for m in range(4)])
    t.eventually("three racks are full", lambda: len(t.running()) == 12)
    t.create(GROUPS, group("left", 3, "example.com/rack"), group("right", 3, "example.com/rack"))
    pods = [member(f"{side}-{m}", side, "one") for side in ("left", "right") for m in range(3)]
    random.Random(5).shuffle(pods)
    t.create(PODS, *pods)

    def sides():
        names = [name.rsplit("-", 1)[0] for name in t.running()]
        return sorted(count for side in ("left", "right") if (count := names.count(side)))
    t.eventually("one of two groups gets the last rack", lambda: sides() == [3])
    time.sleep(2)
    t.check("the other one has nothing", sides() == [3] and len(t.held()) == 15, (sides(), len(t.held())))
    for m in range(4):
        t.api.request("DELETE", PODS.format("default") + f"/fill-0-{m}")
    t.eventually("and gets the next one that is free", lambda: sides() == [3, 3])
    t.clear()


def torn_apart(t):
    """Members, their PodGroup or its count are deleted or changed at random moments while the group is decided, marked and ungated."""
    chance = random.Random(11)
    for round_ in range(12):
        name = f"torn{round_}"
        t.create(GROUPS, group(name, 8))
        t.create(PODS, *[member(f"{name}-{i}", name, "one") for i in range(8)])
        time.sleep(chance.uniform(0, 0.12))
        what = chance.choice(["member", "group", "both"])
        if what != "group":
            t.api.request("DELETE", PODS.format("default") + f"/{name}-{chance.randrange(8)}?gracePeriodSeconds=0")
        if what != "member":
            t.api.request("DELETE", GROUPS.format("default") + "/" + name)
        time.sleep(1.2)
        held = t.held()
        t.check(f"round {round_}, {what}: no device twice", all(len(claims) == 1 for claims in held.values()), held)
        # Running members go on, and waiting members hold nothing.
        t.eventually("what waits holds nothing", lambda: len(t.held()) == len(t.running()), 45)
        t.clear()


def crowd(t):
    """Far more pods than the limit of a group: refused soon because of the number, without delaying others."""
    t.create(PODS, *[member(f"crowd-{i}", "crowd", "one") for i in range(1_100)])
    t.create(GROUPS, group("crowd", 4))
    t.says("a crowd is refused by number", "and at most 1024 are placed together")
    t.nothing_held("it holds nothing")
    begin = time.monotonic()
    t.create(PODS, alone("alone", "one"))
    t.eventually("another pod runs", lambda: t.running() == ["alone"], 20)
    print(f"      after {time.monotonic() - begin:.1f} s")
    t.clear()


def main():
    parts = {part.__name__: part for part in (absurd, namespaces, changes, cordons, together, near, preferences, partitions, one_domain, torn_apart, crowd)}
    wanted = [parts[name] for name in sys.argv[2:] if name in parts] or list(parts.values())
    modes = [sys.argv[sys.argv.index("--mode") + 1]] if "--mode" in sys.argv else ["bind", "gate"]
    # A crowd takes a minute, and the mode makes no difference.
    return max(run(mode, [part for part in wanted if part != crowd or mode == modes[0]]) for mode in modes)


def run(mode, parts):
    print(f"{mode} mode", flush=True)
    GATES[:] = ["dra-controller-manager/allocation"] if mode == "gate" else []
    program = os.path.join(sys.argv[1], "dra-sandbox")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as fleet:
        fleet.write(FLEET)
        fleet.flush()
        with sandbox.Sandbox(program, ["--fleet", fleet.name, "--scheduling", mode]) as box:
            t = Test(rest.Api(box.kubeconfig))
            t.create("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates", rest.template("one"))
            for part in parts:
                part(t)
                held = t.held()
                t.check(f"{part.__name__}: no device is left over or held twice", not held, held)
            print(f"{t.passed} passed, {t.failed} failed")
            return 1 if t.failed else 0


if __name__ == "__main__":
    sys.exit(main())
