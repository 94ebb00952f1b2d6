#!/usr/bin/env python3
"""Bad input ends in one clear line and the right exit or HTTP status; nothing crashes, nothing hangs. Usage: bad_input_test.py FOLDER_OF_PROGRAMS"""
import os
import re
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import sandbox  # noqa: E402

PROBLEMS = []


def expect(name, condition, shown):
    print(f"{'ok' if condition else 'FAILED'}: {name}")
    if not condition:
        PROBLEMS.append(name)
        print(f"    {shown}")


def refused(name, arguments, says, status=1):
    """The program ends with this status and one line on standard error that matches."""
    answer = subprocess.run(arguments, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
    lines = [line for line in answer.stderr.splitlines() if line.strip()]
    expect(name, answer.returncode == status and len(lines) == 1 and re.search(says, lines[0]), f"status {answer.returncode}: {answer.stderr[:500]}")


def programs_refuse(programs, folder):
    box, manager = os.path.join(programs, "dra-sandbox"), os.path.join(programs, "dra-controller-manager")

    def write(name, text):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    refused("sandbox: unknown flag", [box, "up", "--flet=x"], "--flet", 2)
    refused("sandbox: absent fleet file", [box, "up", "--fleet", os.path.join(folder, "none")], "none.*cannot be opened")
    refused("sandbox: typo in a fleet file", [box, "up", "--fleet", write("f.yaml", "nodes:\n- nmae: a\n")], r"f\.yaml:2:\d+: nodes\[0\]\.nmae: .*\"name\"")
    refused("sandbox: kubeconfig in an absent folder", [box, "up", "--kubeconfig", os.path.join(folder, "no/such/kubeconfig")], "kubeconfig.*No such file")
    for version in ("resource.k8s.io/v1", "storage.k8s.io/v1"):
        refused(f"sandbox: a fleet without {version}", [box, "up", "--runtime-config", version + "=false"], f"fleet in {version} .*dra-sandbox apiserver")
    refused("sandbox: a version that cannot be read", [box, "up", "--runtime-config", "resource.k8s.io=false"], "is not GROUP/VERSION=false")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused("sandbox: port in use", [box, "apiserver", "--port", str(port)], f"{port}.*in use")
    refused("manager: unknown flag", [manager, "--kubeconfg=x"], "--kubeconfg")
    # What ends a running process is a line of its log, in klog's form or in JSON.
    klog = r'^E\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \S+\.cc:\d+\] "%s".* err="\w+: .*%s'
    refused("manager: absent kubeconfig", [manager, "--kubeconfig", os.path.join(folder, "none")], klog % ("Cannot start", "none"))
    refused("manager: broken kubeconfig", [manager, "--kubeconfig", write("k1", "clusters: [")], klog % ("Cannot start", "line"))
    refused("manager: kubeconfig without a current context", [manager, "--kubeconfig", write("k2", "apiVersion: v1\nkind: Config\n")],
            klog % ("Cannot start", "context"))
    refused("manager: absent kubeconfig, JSON", [manager, "--logging-format=json", "--kubeconfig", os.path.join(folder, "none")],
            r'^\{.*"msg":"Cannot start".*\}$')
    unreachable = ("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
                   "contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\ncurrent-context: c\n")
    answer = subprocess.run([manager, "--kubeconfig", write("k3", unreachable)], capture_output=True, text=True, timeout=60, check=False)
    last = answer.stderr.splitlines()[-1]
    expect("manager: unreachable server", answer.returncode == 1 and "127.0.0.1:1" in last and re.search(klog % ("The API server cannot be used", ""), last),
           f"status {answer.returncode}: {answer.stderr[-500:]}")
    expect("manager: every line is one of the log", all(re.match(r"[IWE]\d{4} ", line) for line in answer.stderr.splitlines()), answer.stderr[-500:])


def nothing_is_left_of_a_start_that_fails(programs):
    box = sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), command="apiserver", ready_line="no such line", ready_within=1)
    try:
        with box:
            expect("a sandbox that is never ready", False, "it was entered")
    except SystemExit as why:
        expect("a sandbox that is never ready: its process has ended", box.process.poll() is not None and not os.path.exists(box.folder), str(why))
    finally:
        if box.process.poll() is None:
            box.process.kill()


def server_refuses(api):
    pods = "/api/v1/namespaces/default/pods"

    def expect_status(name, wanted, reason, method, path, body=None, content_type="application/json"):
        status, answer = api.request(method, path, body, content_type)
        expect(name, status == wanted and answer.get("kind") == "Status" and answer.get("reason") == reason, f"HTTP {status}: {answer}")

    expect_status("server: malformed JSON", 400, "BadRequest", "POST", pods, '{"kind": "Pod",')
    expect_status("server: empty body", 400, "BadRequest", "POST", pods, "")
    expect_status("server: wrong content type", 415, "UnsupportedMediaType", "POST", pods, "a=b", "application/x-www-form-urlencoded")
    expect_status("server: unknown path", 404, "NotFound", "GET", "/api/v1/namespaces/default/podz")
    expect_status("server: a body of over 3 MB", 413, "RequestEntityTooLarge", "POST", pods, '{"kind":"Pod","x":"' + "x" * 3_200_000 + '"}')
    expect_status("server: deep nesting", 400, "BadRequest", "POST", pods, '{"metadata":' + "[" * 100_000)
    expect_status("server: unknown patch type", 415, "UnsupportedMediaType", "PATCH", pods + "/x", "{}", "application/x-patch")
    status, _ = api.request("GET", "/readyz")
    expect("server: still ready", status == 200, f"HTTP {status}")


def main():
    programs = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        programs_refuse(programs, folder)
    nothing_is_left_of_a_start_that_fails(programs)
    with sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), command="apiserver", ready_line="serving on") as box:
        server_refuses(rest.Api(box.kubeconfig))
    print(f"{len(PROBLEMS)} failed" if PROBLEMS else "all refused as they should: 1 passed, 0 failed")
    return 1 if PROBLEMS else 0


if __name__ == "__main__":
    sys.exit(main())
