#!/usr/bin/env python3
"""Pods with claim templates on a real control plane, from the first creation to the last binding: the stock pair (kube-scheduler and the
claim controller of kube-controller-manager), then this project's manager with the same kube-scheduler (gate) and without one (bind).

Usage: real_cluster_bench.py FOLDER_OF_PROGRAMS [--assets FOLDER] [--pods N] [--nodes N] [--devices N] [--contenders stock,gate,bind] [--runs N]
  [--rate PODS_A_SECOND] [--json] [--scheduler FILE] [--scheduler-args=FLAG ...] [--server-args=FLAG ...]
The stock side can be any kube-scheduler with any flags: --scheduler FILE --scheduler-args=--feature-gates=SchedulerQueueingHints=true
The folder of etcd, kube-apiserver, kube-scheduler and kube-controller-manager is --assets or $KUBEBUILDER_ASSETS.
With --runs the contenders take turns, each compared with the stock pair of its own round, and medians are printed at the end: the speed of a
shared machine changes from minute to minute.
Prints pods/s, CPU seconds of every program, peak memory of the contenders, and the requests per pod as the API server counts them
("POST pods" are the benchmark's own). With --rate pods are created at that rate, and the seconds from a pod's creation to its binding are printed too. Fails if a pod is not bound, if a claim does not have exactly one device, or if two claims hold the same device.
"""
import argparse
import json
import os
import re
import statistics
import threading
import time

import real_cluster
from real_cluster import rest
import manager as managers  # from test/e2e, which real_cluster adds to the path

PODS = "/api/v1/namespaces/default/pods"
BOUND = PODS + "?watch=true&fieldSelector=spec.nodeName%21%3D&resourceVersion=0"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
NAME = re.compile(rb'"metadata":\{"name":"([^"]+)"')
GATE = "dra-controller-manager/allocation"


def pod(name, contender):
    made = rest.pod(name, "gpu")
    if contender == "gate":
        made["spec"]["schedulingGates"] = [{"name": GATE}]
    made["spec"]["terminationGracePeriodSeconds"] = 0
    return made


def start_contender(plane, programs, contender):
    """The processes that do the work, by name."""
    processes = {}
    if contender != "bind":
        processes["kube-scheduler"] = plane.start_scheduler(5000)
    if contender == "stock":
        processes["kube-controller-manager"] = plane.start_claim_controller(1000, 2000)
    else:
        processes["manager"] = plane.start("manager", [
            f"--kubeconfig={plane.kubeconfig}", "--claim-templates=own", "--resourceclaim-controller-is-off", f"--scheduling={contender}", "--leader-elect=false",
            "--bind-address=127.0.0.1", "--metrics-port=0"], os.path.join(programs, "dra-controller-manager"))
    return processes


def check(plane, pods):
    claims = plane.api.items(rest.RESOURCE + "/resourceclaims")
    held = [device for claim in claims for device in rest.devices_of(claim)]
    if len(claims) != pods or len(held) != pods or len(set(held)) != pods:
        raise SystemExit(f"{pods} pods have {len(claims)} claims with {len(held)} devices, {len(set(held))} of them different")
    unreserved = [claim for claim in claims if len(claim["status"].get("reservedFor", [])) != 1]
    if unreserved:
        raise SystemExit(f"{len(unreserved)} claims are not reserved for one pod")


def request_counts(plane):
    """Requests that the server has answered, by "VERB resource/subresource", from its own metrics."""
    connection = plane.api.new_connection(60)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {plane.api.token}"})
    counts = {}
    for labels, value in re.findall(r"^apiserver_request_total\{(.*)\} (\S+)$", connection.getresponse().read().decode(), re.MULTILINE):
        label = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        what = label["resource"] + ("/" + label["subresource"] if label["subresource"] else "")
        name = f"{label['verb']} {what}"
        counts[name] = counts.get(name, 0) + float(value)
    connection.close()
    return counts


def per_pod(before, after, pods):
    """Requests per pod; those rarer than one in a hundred pods are left out."""
    share = {name: round((count - before.get(name, 0)) / pods, 2) for name, count in after.items()}
    return {name: value for name, value in sorted(share.items()) if value >= 0.01}


def wait_until_bound(plane, pods, seconds):
    """When each pod was seen bound, by name. Watches cheaply for the server: one event for each pod, when it is bound."""
    end = time.monotonic() + seconds
    bound = {}
    while time.monotonic() < end:
        try:
            for line in plane.api.watch(BOUND, 60, METADATA):  # a server under load ends watches
                for name in NAME.findall(line):
                    bound.setdefault(name.decode(), time.monotonic())
                if len(bound) == pods:
                    return bound
                if time.monotonic() > end:
                    break
        except TimeoutError:
            break
    raise SystemExit(f"{len(bound)} of {pods} pods were bound, and no more came in a minute or {seconds} s in all\n" + plane.last_words())


def create_at_rate(plane, pods, contender, rate):
    """Starts to create the pods; when each of them was begun, by name, and the thread that does it."""
    began = time.monotonic()
    born = {}

    def one(i):
        time.sleep(max(0.0, began + i / rate - time.monotonic()))
        born[f"pod-{i}"] = time.monotonic()
        plane.api.create(PODS, pod(f"pod-{i}", contender))
    thread = threading.Thread(target=lambda: plane.api.many([lambda i=i: one(i) for i in range(pods)], threads=8))
    thread.start()
    return born, thread


def quantiles(born, bound):
    waits = sorted(bound[name] - start for name, start in born.items())
    return {"p50": round(waits[len(waits) // 2], 3), "p99": round(waits[len(waits) * 99 // 100], 3), "longest": round(waits[-1], 3)}


def measure(options, contender):
    with real_cluster.ControlPlane(options.assets, options.server_args, options.scheduler, options.scheduler_args) as plane:
        plane.add_nodes(options.nodes, options.devices)
        plane.api.create(rest.RESOURCE + "/namespaces/default/resourceclaimtemplates", rest.template("gpu"))
        processes = start_contender(plane, options.programs, contender)
        plane.api.create(PODS, pod("warm-up", contender))
        wait_until_bound(plane, 1, 60)
        time.sleep(1)
        everything = {process.label: process for process in plane.started}  # CPU of the server for the contender's requests
        requests = request_counts(plane)
        cpu = {name: managers.cpu_seconds(process.pid) for name, process in everything.items()}
        began = time.monotonic()
        latency = {}
        if options.rate:
            born, creation = create_at_rate(plane, options.pods, contender, options.rate)
            bound = wait_until_bound(plane, options.pods + 1, 600)
            creation.join()
            latency = {"seconds_to_binding": quantiles(born, bound)}
        else:
            plane.api.many([lambda i=i: plane.api.create(PODS, pod(f"pod-{i}", contender)) for i in range(options.pods)], threads=8)
        created = time.monotonic() - began
        if not options.rate:
            wait_until_bound(plane, options.pods + 1, 600)
        seconds = time.monotonic() - began
        cpu = {name: managers.cpu_seconds(process.pid) - cpu[name] for name, process in everything.items()}
        requests = per_pod(requests, request_counts(plane), options.pods)
        check(plane, options.pods + 1)
        return {"pods_per_second": round(options.pods / seconds, 1), "seconds": round(seconds, 2), "create_seconds": round(created, 2), **latency,
                "cpu_seconds": {name: round(value, 2) for name, value in cpu.items()},
                "requests_per_pod": requests,
                "peak_mib": {name: round(managers.peak_memory_mib(process.pid), 1) for name, process in processes.items()}}


def run_round(options):
    """Each contender once."""
    results = {}
    for contender in options.contenders.split(","):
        result = results[contender] = measure(options, contender)
        if "stock" in results and contender != "stock":
            result["times_stock"] = round(result["pods_per_second"] / results["stock"]["pods_per_second"], 2)
        if not options.json:
            print(contender, json.dumps(result), flush=True)
    return results


def medians(rounds, contender):
    results = [one[contender] for one in rounds]

    def of(value):
        return round(statistics.median(value(result) for result in results), 2)
    found = {name: of(lambda result, name=name: result[name]) for name in ("pods_per_second", "times_stock") if name in results[0]}
    for group in ("cpu_seconds", "peak_mib"):
        found[group] = {name: of(lambda result, name=name, group=group: result[group][name]) for name in results[0][group]}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs")
    parser.add_argument("--assets", default=os.environ.get("KUBEBUILDER_ASSETS"))
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--contenders", default="stock,gate,bind")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument("--json", action="store_true")
    real_cluster.add_stock_options(parser)
    options = parser.parse_args()
    if not options.assets:
        parser.error("no control plane: name a folder with --assets or $KUBEBUILDER_ASSETS")
    rounds = [run_round(options) for _ in range(options.runs)]
    if options.json:
        print(json.dumps(rounds if options.runs > 1 else rounds[0]))
    elif options.runs > 1:
        for contender in rounds[0]:
            print("median", contender, json.dumps(medians(rounds, contender)))


if __name__ == "__main__":
    main()
