#!/usr/bin/env python3
"""Texts that users read first: the output of `dra-sandbox up`, events of claims that are missing or come late, misspelt flags of every program, and the
last line of a program that is stopped.

Usage: wording_test.py FOLDER_OF_PROGRAMS
"""
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import sandbox  # noqa: E402

FAILURES = []


def check(holds, what, text=""):
    print(("ok      " if holds else "FAILED  ") + what + ("" if holds else f"\n{text}"))
    if not holds:
        FAILURES.append(what)


def says(program, *arguments):
    answer = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=30)
    return answer.returncode, answer.stdout + answer.stderr


def misspelt_flags(programs):
    for arguments, meant in ((["dra-controller-manager", "--schedulnig=bind"], "--scheduling"), (["dra-sandbox", "up", "--scheduilng=bind"], "--scheduling"),
                             (["dra-sandbox", "up", "--metrcs-port=1"], "--metrics-port"), (["kubectl-dra", "explain", "pod/x", "--namespcae", "x"], "--namespace"),
                             (["kubectl-dra", "explian", "pod/x"], "explain"), (["kubectl-dra", "fits", "--coutn", "2"], "--count")):
        status, text = says(os.path.join(programs, arguments[0]), *arguments[1:])
        check(status != 0 and "did you mean" in text and meant in text, " ".join(arguments), f"status {status}: {text}")
    program = os.path.join(programs, "kubectl-dra")
    for form in (["-o", "json"], ["-o=json"], ["-ojson"], ["--output=json"]):
        status, text = says(program, "top", *form, "--from", "/nonexistent")
        check(status == 2 and "cannot open" in text, "kubectl-dra top " + " ".join(form), f"status {status}: {text}")
    status, text = says(program, "-n", "ml", "top")
    check(status == 2 and "flags come after the verb" in text, "kubectl-dra -n ml top", f"status {status}: {text}")


# Each in one line that names the flag, what was given and what to write.
REFUSED = (
    (["dra-sandbox", "up", "--scheduling=observe"], '--scheduling: "observe" is not one of bind, gate'),
    (["dra-sandbox", "up", "--port=99999"], '--port: "99999" is not a port (0 to 65535)'),
    (["dra-sandbox", "up", "--metrics-port=70000"], '--metrics-port: "70000" is not a port (0 to 65535)'),
    (["dra-sandbox", "apiserver", "--port=http"], '--port: "http" is not a port (0 to 65535)'),
    (["dra-sandbox", "up", "--authorization-mode=Open"], '--authorization-mode: "Open" is not one of RBAC, AlwaysAllow'),
    (["dra-sandbox", "up", "--without-manager=maybe"], '--without-manager: "maybe" is not true or false'),
    (["dra-sandbox", "up", "-v=loud"], '--v: "loud" is not a whole number from 0 to 10'),
    (["dra-sandbox", "up", "--cert=nope.pem", "--key=nope.key"], '--cert: cannot read "nope.pem": No such file or directory'),
    (["dra-sandbox", "apiserver", "--kubeconfig=/nope/kubeconfig"], '--kubeconfig: cannot create "/nope/kubeconfig": No such file or directory'),
    (["dra-sandbox", "up", "--cert=x.pem"], "--cert needs --key, too"),
    (["dra-sandbox", "up", "--kubernetes-version=1.40"], '--kubernetes-version: "1.40" is not a release that is served; write 1.36, 1.37 or 1.38'),
    (["dra-sandbox", "up", "--without-manager", "--metrics-port=0"], "--metrics-port serves the metrics of the manager, which --without-manager leaves out"),
    (["dra-sandbox", "up", "--feature-gates=DRANonsense=true"], '--feature-gates: "DRANonsense" is not known here; known are: '),
    (["dra-sandbox", "up", "--feature-gates=DRADerivedAttributes=true"], "--feature-gates: DRADerivedAttributes is a gate of 1.37: say --kubernetes-version=1.37"),
    (["dra-sandbox", "apiserver", "--feature-gates=DRAResourcePoolStatus"], '--feature-gates: "DRAResourcePoolStatus": write Name=true or Name=false'),
    (["dra-sandbox", "up", "--port=18181", "--metrics-port=18181"], "--port and --metrics-port are the same port"),
    (["dra-controller-manager", "--leader-elect=maybe"], '--leader-elect: "maybe" is not true or false'),
    (["dra-controller-manager", "--scheduling=observe", "--claim-templates=own"], "--scheduling=observe writes nothing but events, and --claim-templates=own makes claims"),
    (["dra-conformance", "packing"], "--in is required"),
    (["dra-conformance", "packing", "--in", "nope"], '--in: cannot read "nope"'),
    (["dra-conformance", "mig", "--in", "nope"], '--in: cannot read "nope"'),
    (["dra-conformance", "gang", "--in", "nope"], '--in: cannot read "nope"'),
    (["dra-conformance", "cel", "--in", "nope"], '--in: cannot read "nope"'),
    (["dra-conformance", "placement", "--in", "nope"], '--in: cannot read "nope"'),
    (["dra-conformance", "allocator", "--in", "nope"], '--in: cannot read "nope"'),
    (["dra-conformance", "cel", "--in", "nope", "--env", "1.30"], '--env: "1.30" is not one of 1.36, 1.37'),
    (["kubectl-dra", "top", "--strategy=fast"], '--strategy: "fast" is not one of first-fit, best-fit, pack, spread'),
    (["kubectl-dra", "top", "--kubernetes-version=1.40", "--from", "x"], '--kubernetes-version: "1.40" is not a release whose rules are known'),
    (["kubectl-dra", "top", "--from", "x", "-s", "https://127.0.0.1:1"], "--from reads a snapshot, and --server is about a server; give one of them"),
    (["kubectl-dra", "completion", "tcsh"], 'completion "tcsh" is not known; use one of bash, zsh, fish'),
    (["kubectl-dra", "version", "client"], 'version takes nothing; "client" is not expected'),
    (["kubectl-dra", "top", "-s", "https://127.0.0.1:1"], "cannot reach https://127.0.0.1:1: "),
    (["kubectl-dra", "top", "-s", "https://nowhere.invalid"], "cannot reach https://nowhere.invalid: "),
    (["kubectl-dra", "top", "-s", "foo"], '--server "foo" is not the address of a server; write https://HOST:PORT'),
    (["kubectl-dra", "cel", ""], "the expression is empty; write one about a device"),
    (["kubectl-dra", "frobnicate"], 'unknown verb "frobnicate"; use one of bundle, cel, doctor, explain, '),
    (["kubectl-dra", "snapshot", "/nonexistent/x", "--from", "y"], "snapshot reads a server"),
)


def refusals(programs):
    for arguments, words in REFUSED:
        status, text = says(os.path.join(programs, arguments[0]), *arguments[1:])
        check(status in (1, 2, 3) and words in text and len(text.splitlines()) == 1, " ".join(arguments), f"status {status}: {text}")


def help_of_verbs(programs):
    """A verb's help has the flags that act on it; the others have a page. `help VERB` is `VERB --help`."""
    program = os.path.join(programs, "kubectl-dra")
    helps = {verb: says(program, verb, "--help")[1] for verb in ("top", "lint", "migrate", "snapshot", "explain", "completion")}
    check(says(program, "help", "lint") == (0, helps["lint"]), "help lint is lint --help", helps["lint"])
    check("kubectl dra completion bash|zsh|fish" in helps["completion"], "completion --help", helps["completion"])
    check("--selector" in helps["top"] and "--selector" not in helps["lint"], "-l is for top alone", helps["lint"])
    check("--watch" in helps["explain"] and "--watch" not in helps["snapshot"], "-w is where it acts", helps["snapshot"])
    status, options = says(program, "options")
    for flag in ("--kubeconfig", "--context", "--server", "--feature-gates", "--kubernetes-version", "--ignore-taints", "--topology-levels", "--identity", "--device-plugin"):
        check(status == 0 and flag in options and flag not in helps["lint"], f"{flag} is on the page of options", options)
    check("kubectl dra options" in helps["top"] and "kubectl dra options" not in helps["migrate"], "the help names that page where it matters", helps["migrate"])


def greeting(box):
    text = box.log()
    tries = text.partition("Four things to try:\n")[2].partition("Stop it")[0].splitlines()
    check(len(tries) == 4, "up prints as many things to try as it says", text)
    config = next((line.partition("KUBECONFIG=")[2] for line in tries if "KUBECONFIG=" in line), "")
    check(os.path.isabs(config) and os.path.exists(config), "up prints the whole path of the kubeconfig, for a terminal in another folder", text)
    check("  fleet: " in text and "  mode: " in text, "up names fleet and mode", text)


def against_a_server(programs, box):
    """What is refused once a server answers."""
    plugin = os.path.join(programs, "kubectl-dra")
    status, text = says(plugin, "snapshot", "/nonexistent/x", "--kubeconfig", box.kubeconfig)
    check(status != 0 and 'cannot write "/nonexistent/x": No such file' in text, "snapshot names the file that was typed", f"status {status}: {text}")
    for expression, hint in (("device.foo == 1", "the fields of device are driver, attributes, capacity, allowMultipleAllocations"),
                             ("foo == 1", "a selector has one variable, device"), ("device.driver", "a selector is true or false")):
        status, text = says(plugin, "cel", expression, "--kubeconfig", box.kubeconfig)
        check(status != 0 and hint in " ".join(text.split()), f"cel {expression}: {hint}", f"status {status}: {text}")
    status, text = says(plugin, "top", "--token", "bad", "--kubeconfig", box.kubeconfig)
    check(status == 3 and "Unauthorized: the server does not accept the token of --token; give one that is valid" in text, "top --token bad", f"status {status}: {text}")
    status, text = says(plugin, "version", "--kubeconfig", box.kubeconfig)
    check(status == 0 and all(word in text for word in ("kubectl-dra ", "Kubernetes ", "v1.36", "leads in mode ", "(Lease ")), "version of all", f"status {status}: {text}")
    status, text = says(plugin, "explain", "pod/none", "-o", "json", "--kubeconfig", box.kubeconfig)
    check(status == 2 and '"kind": "DRAError"' in text and '"answer": "usage"' in text, "an error as JSON", f"status {status}: {text}")
    with open(box.kubeconfig, encoding="utf-8") as config:
        wrong = config.read().replace("token: \"", "token: \"not-")
    path = os.path.join(box.folder, "wrong-token")
    with open(path, "w", encoding="utf-8") as out:
        out.write(wrong)
    status, text = says(os.path.join(programs, "dra-controller-manager"), "--kubeconfig", path, "--metrics-port=-1")
    check(status == 1 and "the token, or the client certificate, is not accepted (401)" in text, "the manager with a wrong token", f"status {status}: {text}")


def first_failure_is_reported_at_once(programs):
    """The manager tries for ten seconds; whoever reads its log meanwhile sees why."""
    manager = subprocess.Popen([os.path.join(programs, "dra-controller-manager"), "--master=https://127.0.0.1:1", "--leader-elect=false", "--metrics-port=-1"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    began, line = time.monotonic(), ""
    while time.monotonic() - began < 8 and "cannot reach https://127.0.0.1:1" not in line:
        line = manager.stderr.readline()
    took = time.monotonic() - began
    manager.terminate()
    manager.wait(timeout=15)
    check("The API server cannot be used yet" in line and took < 5, "the manager says at once that it cannot reach its server", f"{took:.1f} s: {line}")


def events_of(api, kind, name):
    return [event for event in api.items("/api/v1/namespaces/default/events") if event["involvedObject"]["kind"] == kind and event["involvedObject"]["name"] == name]


def claims_that_are_missing(box, api):
    absent = rest.pod("absent", "unused")
    absent["spec"]["resourceClaims"] = [{"name": absent["spec"]["resourceClaims"][0]["name"], "resourceClaimName": "x"}]
    api.create("/api/v1/namespaces/default/pods", absent)
    entry = absent["spec"]["resourceClaims"][0]["name"]
    words = f'ResourceClaim default/x (used by pod claim "{entry}") does not exist'
    box.wait_for(lambda: any(words in event["message"] for event in events_of(api, "Pod", "absent")), 20, "the event: " + words)
    check(True, words)


def template_that_comes_late(box, api):
    api.create("/api/v1/namespaces/default/pods", rest.pod("late", "late"))
    time.sleep(1)
    api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("late", count=1))
    box.wait_for(lambda: api.get("/api/v1/namespaces/default/pods/late")["status"].get("phase") == "Running", 20, "the pod whose template comes late")
    warnings = [event["message"] for event in events_of(api, "Pod", "late") if event["type"] == "Warning"]
    check(not warnings, "no warning where the template comes within 2 s", "\n".join(warnings))


def parameters_that_the_driver_refuses(box, api):
    """The event of a running manager: on the pod, once, with the template, the field and what is allowed."""
    template = rest.template("typo", count=1)
    template["spec"]["spec"]["devices"]["config"] = [{"opaque": {"driver": "gpu.nvidia.com", "parameters": {
        "apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": {"strategy": "TimeSlicin"}}}}]
    api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", template)
    api.create("/api/v1/namespaces/default/pods", rest.pod("typo", "typo"))
    notes = lambda: [event["message"] for event in events_of(api, "Pod", "typo") if event["reason"] == "ParametersRefused"]  # noqa: E731
    box.wait_for(notes, 20, "the event ParametersRefused")
    box.wait_for(lambda: api.get("/api/v1/namespaces/default/pods/typo")["status"].get("phase") == "Running", 20, "the pod, which nothing stops")
    said = notes()
    check(len(said) == 1 and 'made from ResourceClaimTemplate "typo": spec.devices.config[0].opaque.parameters.sharing.strategy: ' in said[0]
          and "TimeSlicing, MPS" in said[0], "parameters that the driver refuses", "\n".join(said))


def main():
    programs = sys.argv[1]
    first_failure_is_reported_at_once(programs)
    misspelt_flags(programs)
    refusals(programs)
    help_of_verbs(programs)
    fleet = os.path.join(HERE, "..", "..", "build", f"wording-fleet-{os.getpid()}.yaml")
    with open(fleet, "w", encoding="utf-8") as out:
        out.write(rest.fleet(1, 2))
    box = sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--fleet", fleet, "--metrics-port", "0"])
    try:
        with box:
            api = rest.Api(box.kubeconfig)
            greeting(box)
            against_a_server(programs, box)
            claims_that_are_missing(box, api)
            template_that_comes_late(box, api)
            parameters_that_the_driver_refuses(box, api)
            box.process.send_signal(signal.SIGTERM)
            box.process.wait(timeout=15)
            last = box.log().strip().splitlines()[-1]
            check("Stopped" in last and "Standing by" not in box.log(), "the last line is Stopped", last)
    finally:
        os.remove(fleet)
    print(f"{len(FAILURES)} failed")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
