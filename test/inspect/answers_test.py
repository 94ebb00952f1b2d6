#!/usr/bin/env python3
"""Checks what every verb of kubectl-dra prints with -o json against docs/answers.schema.json.
Usage: answers_test.py FOLDER_OF_PROGRAMS

The questions go to the cluster of scenario.py; those that need a server go to dra-sandbox. JSON is the same on pages of every width, and text that goes
into a pipe is not wrapped. Python's standard library only: Schema knows the words of JSON Schema that the file uses, and refuses others.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path += [HERE, os.path.join(ROOT, "test", "e2e")]
import sandbox  # noqa: E402
import scenario  # noqa: E402

GPUS = "device.driver == \"gpu.example.com\""
# Verb by verb; {here}: this folder.
OFFLINE = [
    "explain", "explain -n ml", "explain -n web", "explain -o wide", "explain pod/train-0 -n ml", "explain pod/train-1 -n ml", "explain pod/large-0 -n ml",
    "explain pod/broken-0 -n ml", "explain claim/train-1-gpus -n ml", "explain claim/web-part -n web", "explain deploy/web -n web",
    "explain pod/train-1 -n ml --node node-a", "top", "top nodes node-a", "top classes", "top pairs gpu.example.com*2 by gpu.example.com/productName", "top claims", "top claims -n nowhere", "top namespaces",
    "who node-a", "who node-c", "who node-c/gpu-0-1g-0", "who pod/train-0 -n ml", "who pod/train-1 -n ml", "who rs/web-7c9 -n web",
    "fits -f {here}/job.yaml", "fits -f {here}/job.yaml --count 3", "fits -f {here}/job.yaml --count 3 --on-empty",
    "whatif drain node-a -n ml", "whatif cordon node-a", "whatif delete pod/train-0 -n ml", "whatif add-node like node-a",
    "whatif preempt pod/train-1 -n ml", "whatif preempt pod/train-0 -n ml", "whatif make-room -f {here}/job.yaml",
    "whatif make-room -f {here}/pod.yaml", "top fragmentation", "whatif taint node-c/gpu-0 a/b=c:NoExecute", "whatif scale replicaset/web-7c9 12 -n web",
    "lint -f {here}/claims.yaml", "lint -f {here}/job.yaml", "lint -f {here}/old.yaml --fix", "doctor", "replay pod/train-0 -n ml", "replay pod/train-1 -n ml",
    "history pod/train-1 -n ml", "history pod/train-0 -n ml", "usage", "usage all", "migrate -f {here}/old.yaml", "version", "version --client", "explain pod/none -n ml", "replay claim/x", "cel ''"]
ONLINE = ["taint {node} example.com/x=y:NoSchedule --dry-run", "taint {node}/{device} example.com/x=y:NoExecute --dry-run --max-evictions 9",
          "taint {node}/{device} example.com/x=y:NoSchedule", "taint {node}/{device} example.com/x=y:NoSchedule", "untaint {node}/{device} example.com/x --dry-run",
          "untaint {node}/{device} example.com/x", "untaint {node}/{device} example.com/x", "snapshot {folder}/s.dra", "bundle {folder}/b.tar.gz",
          "explain", "doctor", "top", "who {node}", "version"]
# Not answers, but texts.
TEXTS = {"completion", "options", "web"}

failures = []


def check(what, holds, details=""):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what}\n{details}")


class Schema:
    """The part of JSON Schema that the file uses."""

    KNOWN = {"$schema", "$defs", "title", "description", "$ref", "oneOf", "anyOf", "const", "enum", "type", "properties", "required", "additionalProperties",
             "items", "minimum"}
    TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float)}

    def __init__(self, root):
        self.root = root

    def problems(self, value, schema=None, path="$"):
        schema = self.root if schema is None else schema
        unknown = set(schema) - self.KNOWN
        if unknown:
            return [f"{path}: the schema says {', '.join(unknown)}, which this test does not know"]
        if "$ref" in schema:
            target = self.root
            for part in schema["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            return self.problems(value, target, path)
        found = []
        for word in ("oneOf", "anyOf"):
            if word in schema:
                tried = [self.problems(value, one, path) for one in schema[word]]
                fitting = sum(not one for one in tried)
                if fitting == 0 or (word == "oneOf" and fitting > 1):
                    # The nearest one says most.
                    found += min(tried, key=len) if fitting == 0 else [f"{path}: {fitting} of oneOf fit"]
        if "const" in schema and value != schema["const"]:
            # Another kind of answer: far from all that follows.
            return [f"{path}: {value!r} is not {schema['const']!r}"] * 1000
        if "enum" in schema and value not in schema["enum"]:
            found.append(f"{path}: {value!r} is none of the values of docs/answers.schema.json")
        if "type" in schema:
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            if not any(isinstance(value, self.TYPES[one]) and not isinstance(value, bool) for one in types):
                return found + [f"{path}: {value!r} is not of type {schema['type']}"]
        if "minimum" in schema and isinstance(value, int) and value < schema["minimum"]:
            found.append(f"{path}: {value} is below {schema['minimum']}")
        if isinstance(value, list) and "items" in schema:
            for i, one in enumerate(value):
                found += self.problems(one, schema["items"], f"{path}[{i}]")
        if isinstance(value, dict):
            found += [f"{path}: lacks {key}" for key in schema.get("required", []) if key not in value]
            for key, one in value.items():
                inner = schema.get("properties", {}).get(key, schema.get("additionalProperties", True))
                if inner is False:
                    found.append(f"{path}: {key} is not in docs/answers.schema.json")
                elif inner is not True:
                    found += self.problems(one, inner, f"{path}.{key}")
        return found


class Asker:
    def __init__(self, programs, schema):
        self.program, self.schema = os.path.join(programs, "kubectl-dra"), schema
        self.kinds, self.verbs, self.codes = set(), set(), set()

    def run(self, words, columns=None, **environment):
        variables = {**os.environ, **environment}
        variables.pop("COLUMNS", None)
        if columns:
            variables["COLUMNS"] = str(columns)
        return subprocess.run([self.program, *words], env=variables, capture_output=True, text=True, timeout=120)

    def ask(self, words, **environment):
        self.verbs.add(words[0])
        asked = " ".join(words)
        answer = self.run([*words, "-o", "json"], **environment)
        try:
            document = json.loads(answer.stdout)
        except ValueError:
            check(f"{asked} -o json is JSON", False, answer.stdout + answer.stderr)
            return {}
        problems = self.schema.problems(document)
        check(f"{asked}: the answer is as the schema says", not problems, "\n".join(problems[:10]) + "\n" + answer.stdout[:3000])
        status = {"yes": 0, "no": 1, "usage": 2, "unknown": 3}[document["answer"]]
        check(f"{asked}: the answer agrees with the exit status", status == answer.returncode, f"{document['answer']}, {answer.returncode}")
        self.kinds.add(document["kind"])
        self.codes |= {one["code"] for one in document["statements"]}
        return document


def check_schema_itself():
    """The checker finds what is wrong."""
    schema = Schema({"oneOf": [{"type": "object", "required": ["a"], "additionalProperties": False,
                                "properties": {"a": {"type": "integer", "minimum": 0}, "b": {"type": "array", "items": {"enum": ["x"]}}}}]})
    check("the checker accepts what fits", not schema.problems({"a": 1, "b": ["x"]}))
    for wrong in ({}, {"a": "1"}, {"a": -1}, {"a": True}, {"a": 1, "c": 2}, {"a": 1, "b": ["y"]}, {"a": 1, "b": "x"}, []):
        check(f"the checker refuses {wrong}", schema.problems(wrong))


def codes_in_sources():
    """The codes that the sources write; those of pkg/verdict and of broken links are compared by AnswerCodes.AreInTheSchema."""
    found = set()
    calls = re.compile(r"\bsay(?:_after|_first)?\(\s*(?:judged,\s*)?\{?([^,]*),|\bStatement \w+\{([^,]*),|statements\.\w+\((?:answer\.statements\.begin\(\),\s*)?\{([^,]*),")
    for name in glob.glob(os.path.join(ROOT, "pkg/inspect/**/*.cc"), recursive=True) + glob.glob(os.path.join(ROOT, "cmd/kubectl-dra/*.cc")):
        if name.endswith("_test.cc"):
            continue
        with open(name, encoding="utf-8") as file:
            for match in calls.finditer(file.read()):
                found |= set(re.findall(r'"([A-Z]\w+)"', next(group for group in match.groups() if group is not None)))
    return found


def offline(asker, folder):
    path = os.path.join(folder, "cluster.dra")
    with open(path, "wb") as snapshot:
        snapshot.write(scenario.build().bytes())
    questions = [question.format(here=HERE).split() for question in OFFLINE] + [["cel", GPUS], ["cel", "device.driver = 1"], ["cel", "device.attributes['a'].b == 1"]]
    for words in questions:
        words = words if words[0] == "migrate" else [*words, "--from", path]
        asker.ask(words)
        pages = {asker.run([*words, "-o", form], columns).stdout for form in ("json",) for columns in (None, 20, 80, 300)}
        check(f"{' '.join(words)}: JSON is the same on pages of every width", len(pages) == 1)
        pages = {asker.run([*words, "-o", "yaml"], columns).stdout for columns in (None, 20)}
        check(f"{' '.join(words)}: YAML is the same on pages of every width", len(pages) == 1)
    piped = asker.run(["explain", "pod/train-1", "-n", "ml", "--from", path]).stdout
    check("text in a pipe is not wrapped", "slice-0 of counter set gpu-0, 0 left of 1) by claim web/web-part (pod web/web-7c9-x2x)" in piped, piped)
    paged = asker.run(["explain", "pod/train-1", "-n", "ml", "--from", path], 60).stdout
    check("a page of 60 columns wraps it", max(map(len, paged.split("\n"))) <= 60, paged)
    why = asker.ask(["explain", "pod/train-1", "-n", "ml", "--from", path])
    held = [one for one in why["statements"] if one["code"] == "DeviceHeld"]
    check("a cause has its object, its count, its holders", held and held[0]["counts"] == {"devices": 2} and held[0]["names"]["claims"] == ["ml/train-0-gpus"]
          and held[0]["object"] == {"kind": "ResourceClaim", "namespace": "ml", "name": "train-1-gpus"}, held)
    remedies = [remedy["code"] for one in why["statements"] for remedy in one.get("remedies", [])]
    check("a refusal has its remedies", "Uncordon" in remedies and "FewerDevices" in remedies, remedies)


def online(asker, programs, folder):
    with sandbox.Sandbox(os.path.join(programs, "dra-sandbox")) as box:
        environment = {"KUBECONFIG": box.kubeconfig, "HOME": folder}
        nodes = asker.ask(["top"], **environment)["nodes"]
        node = next(one["node"] for one in nodes if one["canBeCut"])
        device = asker.ask(["who", node], **environment)["devices"][0]["device"].strip()
        for question in ONLINE:
            asker.ask(question.format(node=node, device=device, folder=folder).split(), **environment)
        for flags, status in ((["--token", "no-such-token"], None), (["--cluster", "no-such-cluster"], 3), (["--user", "no-such-user"], 3),
                              (["--request-timeout", "30s"], 0), (["--request-timeout", "0"], 0), (["--request-timeout", "5x"], 2),
                              (["--insecure-skip-tls-verify"], 0), (["--as", "bob"], 2), (["--sort-by", "free"], 0), (["--sort-by", "x"], 2), (["-o", "jsonpath={}"], 2)):
            answer = asker.run(["top", *flags], **environment)
            check(f"top {' '.join(flags)} ends with {status}", status in (None, answer.returncode), f"{answer.returncode}\n{answer.stdout[:500]}{answer.stderr}")
            check(f"top {' '.join(flags)} says why", answer.returncode == 0 or answer.stderr.count("\n") == 1, answer.stderr)


def main():
    programs = os.path.abspath(sys.argv[1])
    with open(os.path.join(ROOT, "docs", "answers.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    check_schema_itself()
    asker = Asker(programs, Schema(schema))
    with tempfile.TemporaryDirectory() as folder:
        offline(asker, folder)
        online(asker, programs, folder)
    kinds = {one["$ref"].rsplit("/", 1)[1] for one in schema["oneOf"]}
    check("every kind of the schema was seen", kinds == asker.kinds, f"{sorted(kinds ^ asker.kinds)}")
    usage = asker.run(["--help"]).stdout
    verbs = set(re.findall(r"^  (\w+) {2,}\S", usage.split("Verbs", 1)[1], re.MULTILINE))
    check("every verb was asked", verbs - TEXTS == asker.verbs, f"{sorted((verbs - TEXTS) ^ asker.verbs)}")
    lacking = codes_in_sources() - set(schema["$defs"]["Code"]["enum"])
    check("every code of the sources is in the schema", not lacking, sorted(lacking))
    print(f"{len(OFFLINE) + len(ONLINE)} answers of {len(asker.kinds)} kinds, {len(asker.codes)} codes seen, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
