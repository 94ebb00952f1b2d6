"""The container image: the program, the libraries it links, CA certificates, time zones, and a user; from scratch, without a shell."""
import gzip
import os
import subprocess
import tempfile

from elf import Elf
from layout import LEVEL, Layout, digest, tar_bytes
from project import NAME, SUMMARY

USER = 65532
PROGRAM = "usr/local/bin/" + NAME
TEXTS = {
    "etc/passwd": f"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/:/sbin/nologin\n",
    "etc/group": f"root:x:0:\nnonroot:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
# The folders "posix" and "right" of the second repeat every zone.
TREES = ("/usr/share/zoneinfo", )
# The same for every architecture, so they come from this machine.
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


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


def collect(program, sysroot):
    """{path in the image: (mode, bytes, path in the sysroot or None)}"""
    files = {path: (0o444, text.encode(), None) for path, text in TEXTS.items()}
    files[PROGRAM] = (0o555, stripped(program, sysroot.architecture), None)
    packages = set()
    for inside in sysroot.libraries(program):
        with open(sysroot.path(inside), "rb") as file:
            files[inside.lstrip("/")] = (0o555, file.read(), inside)
        packages.add(sysroot.package_of(inside))
    sources = [CERTIFICATES]
    for tree in TREES:
        for folder, _, names in os.walk(tree):
            if "/posix" not in folder and "/right" not in folder:
                sources += [os.path.join(folder, name) for name in names]
    for source in sources:
        with open(source, "rb") as file:
            files[source.lstrip("/")] = (0o444, file.read(), source)
    for package in sorted(packages - {None}):
        text = sysroot.copyright_of(package)
        if text:
            files[f"usr/share/doc/{package}/copyright"] = (0o444, text.encode(), None)
    return files


def add_image(layout, files, architecture, version):
    """Adds one architecture's image to a layout and returns its descriptor with `platform`, and the compressed size."""
    layer = tar_bytes({path: (mode, data) for path, (mode, data, _) in files.items()})
    packed = layout.blob(gzip.compress(layer, LEVEL, mtime=0), "application/vnd.oci.image.layer.v1.tar+gzip")
    config = layout.json_blob({
        "architecture": architecture, "os": "linux",
        "config": {"User": f"{USER}:{USER}", "Entrypoint": ["/" + PROGRAM], "ExposedPorts": {"8080/tcp": {}, "8443/tcp": {}},
                   "Labels": {"org.opencontainers.image.title": NAME, "org.opencontainers.image.description": SUMMARY,
                              "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0"}},
        "rootfs": {"type": "layers", "diff_ids": [digest(layer)]}}, "application/vnd.oci.image.config.v1+json")
    manifest = layout.json_blob({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": [packed]},
                                "application/vnd.oci.image.manifest.v1+json")
    manifest["platform"] = {"architecture": architecture, "os": "linux"}
    return manifest, packed["size"]


def image_of(collected, version):
    """A layout with an index over the images of {architecture: files}, and the index's digest, which the chart and install.yaml pin."""
    layout = Layout()
    manifests = [add_image(layout, files, architecture, version)[0] for architecture, files in sorted(collected.items())]
    index = layout.json_blob({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests},
                             "application/vnd.oci.image.index.v1+json")
    index["annotations"] = {"org.opencontainers.image.ref.name": version}
    layout.index([index])
    return layout, index["digest"]
