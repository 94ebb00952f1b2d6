#!/usr/bin/env python3
"""The programs for 64-bit ARM, emulated (qemu-user): unit tests of four packages, the demo from the archive of a release, and the manager from the image, which
allocates devices of an embedded API server that runs natively. Nothing is installed: the loader and libraries are those of the release.

Usage: arm64_test.py RELEASE BUILD_ARM64 FOLDER_OF_NATIVE_PROGRAMS [--only unit|demo|manager|launcher ...]
"""
import argparse
import glob
import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
import api as rest  # noqa: E402
import manager as managers  # noqa: E402
import sandbox  # noqa: E402

QEMU = os.path.join(ROOT, "build/tools/usr/bin/qemu-aarch64-static")
SYSROOT = os.path.join(ROOT, "build/sysroot-arm64")
PROGRAMS = ("dra-controller-manager", "dra-sandbox", "kubectl-dra")
UNIT = {"pkg/allocator/allocator_test": (), "pkg/cel/cel_test": (), "pkg/api/api_test": (), "client/client_test": ()}
# They compare a time with a bar, which an emulator misses.
TIMED = ("Dos.*", "SlicesTest.CostlySelectorsAreEvaluatedInSlices", "Limits.WorkIsBounded", "Quantity.HostileTextsAreQuick", "ExecPlugin.TimeAndOutputAreBounded", "ExecPlugin.AHangingPluginIsKilledWhenItIsNoLongerWanted",
         "CurlTransport.LinesAreDeliveredInPortions", "CurlTransport.AnEventWaitsForNoOtherStreamsBacklog")
# qemu-user runs vfork() as fork(), so posix_spawn() cannot say that a program is not there.
SPAWNED = ("ExecPlugin.FailuresSayWhatHappened",)
LIMIT = 20 * 60


def unpack_archive(release, place):
    """The folder of the workstation's archive."""
    archive, = glob.glob(os.path.join(release, "dra-controller-manager-*-linux-arm64.tar.gz"))
    with tarfile.open(archive) as tar:
        tar.extractall(place)
    top, = (os.path.join(place, name) for name in os.listdir(place))
    return top


def unpack_image(release, place):
    """The root of the arm64 image, by the index."""
    def blob(digest):
        with open(os.path.join(release, "image/blobs/sha256", digest.removeprefix("sha256:")), "rb") as file:
            return file.read()
    with open(os.path.join(release, "image/index.json"), encoding="utf-8") as file:
        index = json.loads(blob(json.load(file)["manifests"][0]["digest"]))
    chosen, = (one for one in index["manifests"] if one["platform"]["architecture"] == "arm64")
    manifest = json.loads(blob(chosen["digest"]))
    assert json.loads(blob(manifest["config"]["digest"]))["architecture"] == "arm64"
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob(manifest["layers"][0]["digest"])))) as tar:
        tar.extractall(place)
    return place


def script(path, command):
    with open(path, "w", encoding="utf-8") as out:
        out.write(f'#!/bin/sh\nexec {command} "$@"\n')
    os.chmod(path, 0o755)
    return path


def emulated(top, place):
    """A folder of scripts that start the archive's programs as its starter does, emulated."""
    os.makedirs(place)
    for name in PROGRAMS:
        script(os.path.join(place, name), f"{QEMU} {top}/lib/loader --argv0 {name} --library-path {top}/lib {top}/libexec/{name}")
    return place


def unit(options, _):
    environment = {**os.environ, "GTEST_FILTER": "-" + ":".join(TIMED + SPAWNED), "GTEST_BRIEF": "1"}
    for program in UNIT:
        began = time.monotonic()
        done = subprocess.run([QEMU, "-L", SYSROOT, os.path.join(options.build, program)], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT,
                              check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        print(f"{program}: {done.stdout.splitlines()[-1].strip()}, {time.monotonic() - began:.0f} s", flush=True)


def demo(options, place):
    programs = emulated(unpack_archive(options.release, os.path.join(place, "archive")), os.path.join(place, "programs"))
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts/demo"), programs], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    print(f"demo: {done.stdout.splitlines()[-1]}", flush=True)


def manager(options, place):
    """Pods with claims from a template: each gets a device of its own, is bound, and gives it back."""
    root = unpack_image(options.release, os.path.join(place, "image"))
    program = script(os.path.join(place, "manager"), f"{QEMU} -L {root} {root}/usr/local/bin/dra-controller-manager")
    fleet = os.path.join(place, "fleet.yaml")
    with open(fleet, "w", encoding="utf-8") as out:
        out.write(rest.fleet(3, 4))
    with sandbox.Sandbox(os.path.join(options.programs, "dra-sandbox"), ["--without-manager", "--fleet", fleet]) as box:
        api, pods = rest.Api(box.kubeconfig), "/api/v1/namespaces/default/pods"
        claims = rest.RESOURCE + "/namespaces/default/resourceclaims"
        running = managers.Manager(program, box.kubeconfig, os.path.join(place, "log"), ["--leader-elect=false"]).start()
        try:
            api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("one"))
            began = time.monotonic()
            api.many([lambda i=i: api.create(pods, rest.pod(f"p-{i:02}", "one")) for i in range(12)])
            box.wait_for(lambda: sum(1 for p in api.items(pods) if p["status"].get("phase") == "Running") == 12, 120, "twelve pods to run")
            took = time.monotonic() - began
            held = [device for claim in api.items(claims) for device in rest.devices_of(claim)]
            assert len(held) == len(set(held)) == 12, held
            api.many([lambda i=i: api.request("DELETE", f"{pods}/p-{i:02}") for i in range(12)])
            box.wait_for(lambda: not api.items(claims), 120, "the claims to be gone")
        except SystemExit:
            print(running.log()[-3000:])
            raise
        assert running.stop() == 0, running.log()[-2000:]
    print(f"manager: 12 pods with a device each ran after {took:.1f} s", flush=True)


def launcher(options, place):
    """The starter finds its folder and calls the loader beside it, which this machine's kernel cannot start unless it has a handler for ARM."""
    top = unpack_archive(options.release, os.path.join(place, "archive"))
    done = subprocess.run([QEMU, f"{top}/bin/kubectl-dra", "--version"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 or done.returncode == 127 and f"{top}/lib/loader: cannot be started" in done.stderr, done
    print("launcher: calls the loader of its archive")


def main():
    checks = {"launcher": launcher, "manager": manager, "demo": demo, "unit": unit}
    parser = argparse.ArgumentParser()
    parser.add_argument("release", type=os.path.abspath)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("programs", type=os.path.abspath)
    parser.add_argument("--only", nargs="+", choices=checks, default=list(checks))
    options = parser.parse_args()
    if not os.access(QEMU, os.X_OK):
        print(f"skipped: {QEMU} is not there (scripts/fetch-test-tools --release)")
        return 77
    began = time.monotonic()
    for name in options.only:
        with tempfile.TemporaryDirectory(prefix="dra-arm64-") as place:
            checks[name](options, place)
    took = time.monotonic() - began
    print(f"emulated for {took / 60:.1f} minutes\n{len(options.only)} passed, 0 failed")
    assert took < LIMIT, "longer than 20 minutes"
    return 0


if __name__ == "__main__":
    sys.exit(main())
