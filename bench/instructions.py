#!/usr/bin/env python3
"""User-space instructions of the manager per pod, on a real control plane: counted by callgrind, so they hardly depend on what else runs.

Usage: instructions.py FOLDER_OF_PROGRAMS [--assets FOLDER] [--pods N] [--nodes N] [--devices N] [--scheduling gate|bind] [--out FILE]
The folder of etcd, kube-apiserver, kube-scheduler and kube-controller-manager is --assets or $KUBEBUILDER_ASSETS. Needs valgrind.
Prints the instructions per pod, with and without the audit: it runs every 10 s, and a program under callgrind needs many times as long for a pod.
Read the rest of --out with `callgrind_annotate --inclusive=yes`.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import real_cluster
import real_cluster_bench as bench
from real_cluster import rest

AUDIT = re.compile(r"^\s*([\d,]+) .*dra::manager::Audit::next_piece\(\) \[", re.MULTILINE)


def switch(process, state):
    subprocess.run(["callgrind_control", "-i", state, str(process.pid)], check=True, stdout=subprocess.DEVNULL)


def create(plane, names, scheduling):
    plane.api.many([lambda name=name: plane.api.create(bench.PODS, bench.pod(name, scheduling)) for name in names], threads=8)


def measure(options, out):
    with real_cluster.ControlPlane(options.assets) as plane:
        plane.add_nodes(options.nodes, options.devices)
        plane.api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("gpu"))
        if options.scheduling == "gate":
            plane.start_scheduler(5000)
        manager = plane.start("manager", [
            "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}", os.path.join(options.programs, "dra-controller-manager"),
            f"--kubeconfig={plane.kubeconfig}", "--claim-templates=own", "--resourceclaim-controller-is-off", f"--scheduling={options.scheduling}",
            "--leader-elect=false", "--bind-address=127.0.0.1", "--metrics-port=0"], shutil.which("valgrind"))
        warm = [f"warm-{i}" for i in range(30)]
        create(plane, warm, options.scheduling)
        bench.wait_until_bound(plane, len(warm), 300)
        time.sleep(3)
        switch(manager, "on")
        create(plane, [f"pod-{i}" for i in range(options.pods)], options.scheduling)
        bench.wait_until_bound(plane, len(warm) + options.pods, 600)
        time.sleep(1)
        switch(manager, "off")
        manager.send_signal(signal.SIGTERM)
        manager.wait(timeout=60)
        counted = re.search(r"Collected : (\d+)", plane.log("manager"))
        bench.check(plane, len(warm) + options.pods)
    if not counted:
        raise SystemExit("callgrind has counted nothing")
    text = subprocess.run(["callgrind_annotate", "--auto=no", "--inclusive=yes", "--threshold=99.9", out], check=True, capture_output=True, text=True).stdout
    audit = AUDIT.search(text)
    whole = int(counted.group(1))
    return whole, whole - (int(audit.group(1).replace(",", "")) if audit else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs")
    parser.add_argument("--assets", default=os.environ.get("KUBEBUILDER_ASSETS"))
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--scheduling", default="gate", choices=("gate", "bind"))
    parser.add_argument("--out")
    options = parser.parse_args()
    if not options.assets:
        parser.error("no control plane: name a folder with --assets or $KUBEBUILDER_ASSETS")
    if not shutil.which("valgrind"):
        parser.error("valgrind is not installed")
    with tempfile.TemporaryDirectory() as folder:
        whole, without_audit = measure(options, options.out or os.path.join(folder, "callgrind.out"))
    print(f"instructions per pod: {whole / options.pods:,.0f}, without the audit {without_audit / options.pods:,.0f}")


if __name__ == "__main__":
    main()
