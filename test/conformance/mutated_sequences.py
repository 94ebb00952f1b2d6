"""More sequences for twin_test.py, made from the recorded ones of ../shared/conformance: in each, the bodies of one to three requests are changed
at random places, like manifests with typing errors or attempts to pass validation."""
import copy
import json
import random

# Their answers depend on how the real server was built or on what else it serves, or they take long.
LEFT_OUT = ("agg-", "disc-", "openapi", "too-large", "health", "watch-", "protobuf", "flow-", "workload", "podgroup", "pod-schedulinggroup", "sa-token",
            "impersonate", "auth-", "http-404", "kubectl-session")
STRINGS = ("", " ", "A", "a" * 64, "a" * 300, "a/b", "a/b/c", "-a", "a.", "a..b", "\u00e4", "a b", "0", "true", "*", "example.com/" + "b" * 70, "1Gi", "-1", "1e3", "a\nb")
NUMBERS = (-1, 0, 1, 2, 1.5, 65536, 2**31, 2**63, -2**31)
OTHERS = (None, True, "text", 7, [], {}, ["a"], {"a": "b"}, [None])


def places(value, path=()):
    """Each place below this value: (container, key, depth)."""
    found = []
    if isinstance(value, dict):
        for key in value:
            found.append((value, key, len(path)))
            found += places(value[key], path + (key,))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            found.append((value, index, len(path)))
            found += places(one, path + (index,))
    return found


def changed(rng, value):
    if rng.random() < 0.15:
        return copy.deepcopy(rng.choice(OTHERS))
    if isinstance(value, str):
        return rng.choice(STRINGS)
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return rng.choice(NUMBERS)
    if isinstance(value, list):
        if value and rng.random() < 0.7:
            return value + copy.deepcopy([rng.choice(value)] * rng.choice((1, 1, 8, 33)))
        return []
    return {**(value or {}), rng.choice(("unknownField", "Name", "spec", "count")): rng.choice(STRINGS)} if rng.random() < 0.6 else {}


def mutate(rng, body):
    kept = [place for place in places(body) if place[1] not in ("apiVersion", "kind") or rng.random() < 0.1]
    if not kept:
        return
    container, key, _ = rng.choice(kept)
    if rng.random() < 0.3:
        del container[key]
    else:
        container[key] = changed(rng, container[key])


def sequences(golden, count, seed):
    rng = random.Random(seed)
    bases = [q for q in golden if not q["id"].startswith(LEFT_OUT) and not q.get("requires") and any("body" in s for s in q["steps"])]
    out = []
    for number in range(count):
        base = copy.deepcopy(rng.choice(bases))
        base["id"] = f"mutated-{seed}-{number:04d} of {base['id']}"
        for step in base["steps"]:
            for key in ("expect", "compare", "keep"):
                step.pop(key, None)
        bodies = [s for s in base["steps"] if isinstance(s.get("body"), (dict, list))]
        for step in rng.sample(bodies, min(len(bodies), rng.choice((1, 1, 2, 3)))):
            for _ in range(rng.choice((1, 1, 2))):
                mutate(rng, step["body"])
        json.dumps(base)
        out.append(base)
    return out
