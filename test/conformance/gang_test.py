#!/usr/bin/env python3
"""Groups that arrive, wait and end: replays the decisions of `dra-conformance gang` on generated lists, and checks them by independent rules.
Usage: gang_test.py PATH/dra-conformance [--lists N] [--seed S]

A list has racks of nodes with GPUs of two models, and groups of one or two kinds of members, some of which must be in one rack. For each decision:
no GPU twice, models, CPU, at least minCount members, one rack where it is required; a group whose members are of one kind is refused exactly if
counting shows that it does not fit; at the end no group holds anything. Invalid lists end with a line that names the error."""
import json
import os
import random
import subprocess
import sys
import tempfile


def make_list(rng):
    nodes = []
    for rack in range(rng.randint(2, 4)):
        for i in range(rng.randint(2, 5)):
            nodes.append({"name": f"n{rack}-{i}", "labels": {"rack": f"r{rack}"}, "cpuMilli": 1000 * rng.randint(4, 16),
                          "memoryMib": 1 << 20, "gpus": rng.choice([2, 4, 8]), "model": rng.choice(["a", "b"])})
    events, alive, now = [], [], 0
    for number in range(60):
        now += rng.randint(1, 20)
        if alive and rng.random() < 0.4:
            events.append({"op": "depart", "at": now, "name": alive.pop(rng.randrange(len(alive)))})
            continue
        members = []
        for kind in range(rng.choice([1, 1, 1, 2])):
            member = {"name": f"k{kind}", "count": rng.randint(1, 8), "gpus": rng.choice([1, 1, 2, 4, 8]), "cpuMilli": 1000 * rng.randint(0, 3)}
            if rng.random() < 0.4:
                member["models"] = [rng.choice(["a", "b"])]
            members.append(member)
        total = sum(m["count"] for m in members)
        group = {"op": "group", "at": now, "name": f"g{number}", "minCount": rng.randint(max(1, total - 2), total), "members": members}
        level = rng.choice(["", "", "required", "preferred"])
        if level:
            group["levels"] = ["rack"]
            group[level] = "rack"
        events.append(group)
        alive.append(group["name"])
    for name in alive:
        now += 10
        events.append({"op": "depart", "at": now, "name": name})
    return nodes, events


class Judge:
    def __init__(self, nodes):
        self.nodes = {n["name"]: n for n in nodes}
        self.taken = {n["name"]: {} for n in nodes}  # GPU -> group
        self.cpu = {n["name"]: n["cpuMilli"] for n in nodes}
        self.used = {}  # group -> [(node, cpu)]
        self.wrong = []

    def free(self, name):
        return self.nodes[name]["gpus"] - len(self.taken[name])

    def fits(self, name, member):
        models = member.get("models")
        if models and self.nodes[name]["model"] not in models:
            return 0
        room = self.free(name) // member["gpus"]
        cpu = member.get("cpuMilli", 0)
        return min(room, self.cpu[name] // cpu) if cpu else room

    def domains(self, group):
        if "required" not in group:
            return [list(self.nodes)]
        racks = {}
        for name, node in self.nodes.items():
            racks.setdefault(node["labels"]["rack"], []).append(name)
        return list(racks.values())

    def place(self, group, line):
        said = [m["name"].rsplit("-", 1)[0] for m in line["members"]]
        if len(said) < group["minCount"]:
            self.wrong.append(f"{group['name']}: {len(said)} of {group['minCount']} members")
        kinds = {m["name"]: m for m in group["members"]}
        used = self.used.setdefault(group["name"], [])
        for member in line["members"]:
            kind = next((k for name, k in kinds.items() if f"-{name}-" in f"{member['name']}-"), None)
            node = member["node"]
            if kind is None or node not in self.nodes:
                self.wrong.append(f"{group['name']}: what is {member}?")
                continue
            if len(set(member["gpus"])) != kind["gpus"] or any(g >= self.nodes[node]["gpus"] for g in member["gpus"]):
                self.wrong.append(f"{member['name']}: {member['gpus']} are not {kind['gpus']} GPUs of {node}")
            if kind.get("models") and self.nodes[node]["model"] not in kind["models"]:
                self.wrong.append(f"{member['name']}: wrong model on {node}")
            for gpu in member["gpus"]:
                if gpu in self.taken[node]:
                    self.wrong.append(f"{member['name']}: {node}/{gpu} is held by {self.taken[node][gpu]}")
                self.taken[node][gpu] = group["name"]
            self.cpu[node] -= kind.get("cpuMilli", 0)
            used.append((node, kind.get("cpuMilli", 0)))
            if self.cpu[node] < 0:
                self.wrong.append(f"{member['name']}: too little CPU on {node}")
        racks = {self.nodes[m["node"]]["labels"]["rack"] for m in line["members"]}
        if "required" in group and len(racks) > 1:
            self.wrong.append(f"{group['name']}: racks {racks}")

    def remove(self, name):
        for taken in self.taken.values():
            for gpu in [g for g, owner in taken.items() if owner == name]:
                del taken[gpu]
        for node, cpu in self.used.pop(name, []):
            self.cpu[node] += cpu

    def refuse(self, group, line):
        """Members of one kind fit exactly if counting says so."""
        if len(group["members"]) > 1 or line["outcome"] == "Undecided":
            return 0
        for domain in self.domains(group):
            room = sum(self.fits(node, group["members"][0]) for node in domain)
            if room >= group["minCount"]:
                self.wrong.append(f"{group['name']}: refused ({line['reason']}), but {room} members fit")
        return 1


def run(program, seed, folder):
    rng = random.Random(seed)
    nodes, events = make_list(rng)
    path, out = os.path.join(folder, "list.jsonl"), os.path.join(folder, "out.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for line in [{"nodes": nodes}] + events:
            file.write(json.dumps(line) + "\n")
    done = subprocess.run([program, "gang", "--in", path, "--out", out, "--strategy", rng.choice(["first-fit", "best-fit"])],
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        return [f"exit code {done.returncode}: {done.stderr}"], 0, 0
    groups = {e["name"]: e for e in events if e["op"] == "group"}
    judge, placed, refused = Judge(nodes), 0, 0
    with open(out, encoding="utf-8") as file:
        lines = [json.loads(text) for text in file]
    at = 0
    for event in events:
        if event["op"] == "depart":
            judge.remove(event["name"])
        # A decision has the time of the event before it; times are distinct.
        while at < len(lines) and lines[at]["at"] == event["at"]:
            line = lines[at]
            at += 1
            if line["outcome"] == "Found":
                judge.place(groups[line["name"]], line)
                placed += 1
            else:
                refused += judge.refuse(groups[line["name"]], line)
    if at != len(lines):
        judge.wrong.append(f"{len(lines) - at} decisions belong to no event")
    summary = json.loads(done.stdout)
    if summary["placed"] != placed or summary["waiting"] != 0 or summary["undecided"] != 0:
        judge.wrong.append(f"summary {summary}, but {placed} were placed, and all departed")
    if any(judge.taken[name] for name in judge.taken):
        judge.wrong.append("something is held when all departed")
    return judge.wrong, placed, refused


def bad_lists(program, folder):
    """Invalid lists end with a line that names the error, not with a crash."""
    wrong = []
    path = os.path.join(folder, "bad.jsonl")
    node = '{"nodes": [{"name": "n", "gpus": 1}]}\n'
    for text in ["{", node + '{"op": "fly", "name": "g"}', node + '{"op": "group", "name": "g"}',
                 node + '{"op": "group", "name": "g", "required": "rack", "members": []}',
                 node + '{"op": "group", "name": "g", "members": [{"name": "w", "count": -1, "gpus": 1}]}',
                 node + '{"op": "group", "name": "g", "members": [{"name": "w", "count": 1e9, "gpus": 1}]}']:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        done = subprocess.run([program, "gang", "--in", path], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 2 or "line" not in done.stderr:
            wrong.append(f"{text!r}: exit code {done.returncode}, {done.stderr!r}")
    # 10,000 members: refused at once because of the number.
    with open(path, "w", encoding="utf-8") as file:
        file.write(node + '{"op": "group", "name": "g", "members": [{"name": "w", "count": 10000, "gpus": 1}]}\n')
    out = os.path.join(folder, "out.jsonl")
    done = subprocess.run([program, "gang", "--in", path, "--out", out], capture_output=True, text=True, timeout=60, check=False)
    with open(out, encoding="utf-8") as file:
        reason = json.loads(file.readline())
    if done.returncode != 0 or "4096" not in reason["reason"]:
        wrong.append(f"10,000 members: {done.returncode}, {reason}")
    return wrong


def main():
    program, lists, seed = sys.argv[1], 60, 1
    arguments = sys.argv[2:]
    while arguments:
        flag, value = arguments[:2]
        arguments = arguments[2:]
        lists, seed = (int(value), seed) if flag == "--lists" else (lists, int(value))
    placed = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for wrong in bad_lists(program, folder):
            print(wrong)
            sys.exit(1)
        for number in range(seed, seed + lists):
            wrong, found, none = run(program, number, folder)
            placed += found
            refused += none
            if wrong:
                print(f"seed {number}: " + "\n".join(wrong[:10]))
                sys.exit(1)
    print(f"{lists} lists from seed {seed}: {placed} groups placed, {refused} refusals judged by counting")
    sys.exit(0 if placed > lists * 10 and refused > lists else 1)


if __name__ == "__main__":
    main()
