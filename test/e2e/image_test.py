#!/usr/bin/env python3
"""The image that scripts/build-image writes: a valid OCI archive, small, the same bytes each time, with only the program and what it needs;
and the program inside works with the chart's own arguments as user 65532 in a read-only root. Skipped without user namespaces.

Usage: image_test.py FOLDER_OF_PROGRAMS
"""
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import charts_test as charts  # noqa: E402
import sandbox  # noqa: E402

MOST_BYTES = 40e6
ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount"


def inside(root, *command):
    return ["unshare", "--user", "--map-user=65532", "--map-group=65532", f"--root={root}", *command]


def build(program, folder):
    archive = os.path.join(folder, "image.tar")
    subprocess.run([os.path.join(sandbox.ROOT, "scripts/build-image"), program, archive], check=True, capture_output=True, timeout=300)
    with open(archive, "rb") as file:
        return archive, file.read()


def read_archive(data):
    """(config, layer as tar bytes), each by its digest."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar.getmembers()}

    def blob(descriptor):
        name = descriptor["digest"].removeprefix("sha256:")
        found = files["blobs/sha256/" + name]
        assert hashlib.sha256(found).hexdigest() == name and len(found) == descriptor["size"], descriptor
        return found
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (entry,) = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(blob(entry))
    config = json.loads(blob(manifest["config"]))
    (packed,) = manifest["layers"]
    assert packed["size"] <= MOST_BYTES, packed
    layer = gzip.decompress(blob(packed))
    assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest()]
    return config, layer, packed["size"]


def check_contents(config, layer):
    assert config["config"]["User"] == "65532:65532"
    assert config["config"]["Entrypoint"] == ["/usr/local/bin/dra-controller-manager"]
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        members = {member.name: member for member in tar.getmembers()}
    assert all(not member.mode & 0o222 and member.uid == 0 for member in members.values()), "something can be written to"
    assert {"etc/passwd", "etc/ssl/certs/ca-certificates.crt", "usr/share/zoneinfo/UTC"} <= set(members)
    programs = [name for name in members if name.split("/")[-1] in ("sh", "bash", "busybox") or name.startswith(("bin/", "sbin/", "usr/bin/"))]
    assert not programs, programs


def unpack(layer, root, account):
    os.makedirs(os.path.join(root, ACCOUNT))
    for name in os.listdir(account):
        with open(os.path.join(account, name), "rb") as source, open(os.path.join(root, ACCOUNT, name), "wb") as out:
            out.write(source.read())
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        for member in tar.getmembers():
            if member.isfile():
                member.mode |= 0o200  # so that this user can remove it afterwards
                tar.extract(member, root)
    for folder, _, _ in os.walk(root, topdown=False):
        os.chmod(folder, 0o555)


def make_writable(root):
    for folder, _, _ in os.walk(root):
        os.chmod(folder, 0o755)


class ImageProcess(charts.PodProcess):
    def __init__(self, root, box, api, arguments, log_path):
        super().__init__("unused", box, api, "unused", [], log_path)
        self.arguments = inside(root, "/usr/local/bin/dra-controller-manager", *arguments)


def run_inside(box, api, root):
    manager = ImageProcess(root, box, api, charts.deployed_arguments(api), os.path.join(box.folder, "image.log")).start()
    try:
        api.create(charts.CLAIMS, charts.by_hand("one"))
        api.create(charts.PODS, charts.gated_pod("gated", "one"))

        def lifted():
            return manager.process.poll() is not None or not api.get(charts.PODS + "/gated")["spec"].get("schedulingGates")
        box.wait_for(lifted, 30, "the gate to be lifted:\n" + manager.log())
        assert manager.process.poll() is None, manager.log()
        with open(f"/proc/{manager.process.pid}/status", encoding="ascii") as status:
            capabilities = next(line.split()[1] for line in status if line.startswith("CapEff"))
        assert int(capabilities, 16) == 0, capabilities
    finally:
        assert manager.stop() == 0, manager.log()


def main():
    program = os.path.abspath(os.path.join(sys.argv[1], "dra-controller-manager"))
    kubectls = sandbox.find_kubectls()
    helm = os.path.join(sandbox.ROOT, "build/tools/helm4")
    if subprocess.run(inside("/", "/bin/true"), capture_output=True, check=False).returncode != 0 or not kubectls or not os.access(helm, os.X_OK):
        print("skipped: no user namespaces, kubectl or Helm here")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        archive, data = build(program, folder)
        assert build(program, folder)[1] == data, "two builds differ"
        config, layer, size = read_archive(data)
        check_contents(config, layer)
        with open(archive + ".contents", encoding="utf-8") as listed:
            assert "/usr/local/bin/dra-controller-manager" in listed.read()
        fleet_path = os.path.join(folder, "fleet.yaml")
        with open(fleet_path, "w", encoding="utf-8") as out:
            out.write(rest.fleet(1, 2))
        with charts.sandbox_of(sys.argv[1], fleet_path) as box:
            api = rest.Api(box.kubeconfig)
            charts.Release(box, api, kubectls[-1][1], helm, program).command(f"install r {charts.CHART} --create-namespace")
            root = os.path.join(folder, "root")
            unpack(layer, root, charts.mounted_account(box, kubectls[-1][1]))
            try:
                done = subprocess.run(inside(root, "/usr/local/bin/dra-controller-manager", "--version"), capture_output=True, text=True, check=False)
                assert done.returncode == 0 and done.stdout.startswith("dra-controller-manager "), done.stderr
                run_inside(box, api, root)
            finally:
                make_writable(root)
    print(f"{size / 1e6:.1f} MB compressed\n1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
