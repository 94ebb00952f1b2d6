"""The container image: the program, the libraries it links, CA certificates, time zones, and a user; from scratch, without a shell."""
import gzip
import os
import subprocess
import tempfile

from elf import Elf
from layout import LEVEL, Layout, digest, moment, tar_bytes
from project import NAME, SUMMARY, read
from sysroot import Sysroot

USER = 65532
PROGRAM = "usr/local/bin/" + NAME
TEXTS = {
    "etc/passwd": f"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/:/sbin/nologin\n",
    "etc/group": f"root:x:0:\nnonroot:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
# These two are the same for every architecture, so they come from this machine: its packages' files, never what its administrator added to
# /etc/ssl/certs. The folders "posix" and "right" of the second repeat every zone.
AUTHORITIES, ZONES = "ca-certificates", "tzdata"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"


def stripped(program, architecture):
    """A program without its symbols. Programs of another machine are linked without them (-Wl,-s): strip knows this machine's alone."""
    with open(program, "rb") as file:
        data = file.read()
    if Elf("/proc/self/exe").machine != architecture:
        return data
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["strip", "-o", out.name, program], check=True)
        with open(out.name, "rb") as made:
            return made.read()


def of_this_machine():
    """{path in the image: (mode, bytes, package)}: certificates of authorities, one after the other as update-ca-certificates does, and time zones."""
    machine = Sysroot(Elf("/proc/self/exe").machine)
    authorities = [path for path in machine.files_of(AUTHORITIES) if path.startswith("/usr/share/ca-certificates/") and path.endswith(".crt")]
    files = {CERTIFICATES: (0o444, b"".join(contents(path) for path in authorities), machine.package(AUTHORITIES))}
    for path in machine.files_of(ZONES):
        if path.startswith("/usr/share/zoneinfo/") and not path.startswith(("/usr/share/zoneinfo/posix/", "/usr/share/zoneinfo/right/")) and os.path.isfile(path):
            files[path.lstrip("/")] = (0o444, contents(path), machine.package(ZONES))
    return files


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def collect(program, sysroot):
    """{path in the image: (mode, bytes, package or None)}"""
    files = {path: (0o444, text.encode(), None) for path, text in TEXTS.items()}
    files[PROGRAM] = (0o555, stripped(program, sysroot.architecture), None)
    for inside in sysroot.libraries(program):
        files[inside.lstrip("/")] = (0o555, contents(sysroot.path(inside)), sysroot.package_of(inside))
    files.update(of_this_machine())
    files[f"usr/share/doc/{NAME}/LICENSE"] = (0o444, read("LICENSE").encode(), None)
    for package in [package for _, _, package in files.values() if package] + sysroot.compiled_in():
        files[f"usr/share/doc/{package.name}/copyright"] = (0o444, package.copyright.encode(), None)
    return files


def add_image(layout, files, architecture, version, time=0, labels=None):
    """Adds one architecture's image to a layout and returns its descriptor with `platform`, and the compressed size. time: of all files and the image;
    labels: more of org.opencontainers.image."""
    layer = tar_bytes({path: (mode, data) for path, (mode, data, _) in files.items()}, time)
    packed = layout.blob(gzip.compress(layer, LEVEL, mtime=0), "application/vnd.oci.image.layer.v1.tar+gzip")
    config = layout.json_blob({
        "architecture": architecture, "os": "linux", "created": moment(time),
        "config": {"User": f"{USER}:{USER}", "Entrypoint": ["/" + PROGRAM], "ExposedPorts": {"8080/tcp": {}, "8443/tcp": {}},
                   "Labels": {"org.opencontainers.image.title": NAME, "org.opencontainers.image.description": SUMMARY,
                              "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0",
                              **{f"org.opencontainers.image.{key}": value for key, value in (labels or {}).items()}}},
        "rootfs": {"type": "layers", "diff_ids": [digest(layer)]}}, "application/vnd.oci.image.config.v1+json")
    manifest = layout.json_blob({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": [packed]},
                                "application/vnd.oci.image.manifest.v1+json")
    manifest["platform"] = {"architecture": architecture, "os": "linux"}
    return manifest, packed["size"]


def image_of(collected, version, time, labels):
    """A layout with an index over the images of {architecture: files}, and the index's digest, which the chart and install.yaml pin."""
    layout = Layout()
    manifests = [add_image(layout, files, architecture, version, time, labels)[0] for architecture, files in sorted(collected.items())]
    index = layout.json_blob({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests},
                             "application/vnd.oci.image.index.v1+json")
    index["annotations"] = {"org.opencontainers.image.ref.name": version}
    layout.index([index])
    return layout, index["digest"]
