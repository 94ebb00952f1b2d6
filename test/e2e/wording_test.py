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


def greeting(box):
    text = box.log()
    check("Three things to try" in text and text.count("\n  kubectl ") >= 3, "up prints three things to try", text)
    check("  fleet: " in text and "  mode: " in text, "up names fleet and mode", text)


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


def main():
    programs = sys.argv[1]
    misspelt_flags(programs)
    fleet = os.path.join(HERE, "..", "..", "build", f"wording-fleet-{os.getpid()}.yaml")
    with open(fleet, "w", encoding="utf-8") as out:
        out.write(rest.fleet(1, 2))
    box = sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--fleet", fleet, "--metrics-port", "0"])
    try:
        with box:
            api = rest.Api(box.kubeconfig)
            greeting(box)
            claims_that_are_missing(box, api)
            template_that_comes_late(box, api)
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
