"""The chart of a release: the tree's chart with the image pinned by digest, and what Artifact Hub shows; as .tgz, as an OCI artifact, and rendered as
install.yaml. `helm package` takes the times of files, so the .tgz is written here."""
import os
import re
import subprocess
import tempfile

from layout import Layout, tar_gz
from project import CHART, NAME, Problem, ROOT

CONFIG_TYPE = "application/vnd.cncf.helm.config.v1+json"
CONTENT_TYPE = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
# A square with eight devices, two of them in use. As data, so that no page has to fetch it.
ICON = ("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 64 64'%3E%3Crect width='64' height='64' rx='10' fill='%231d3557'/%3E"
        "%3Cg fill='%23a8dadc'%3E%3Crect x='10' y='14' width='9' height='16'/%3E%3Crect x='22' y='14' width='9' height='16'/%3E"
        "%3Crect x='10' y='34' width='9' height='16'/%3E%3Crect x='34' y='34' width='9' height='16'/%3E%3Crect x='46' y='14' width='9' height='16'/%3E"
        "%3Crect x='46' y='34' width='9' height='16'/%3E%3C/g%3E%3Cg fill='%23e63946'%3E%3Crect x='34' y='14' width='9' height='16'/%3E"
        "%3Crect x='22' y='34' width='9' height='16'/%3E%3C/g%3E%3C/svg%3E")


def replaced(text, pattern, by, what):
    """`text` with the one place that matches replaced; a release must not be made from a chart that has changed its form."""
    found, count = re.subn(pattern, lambda _: by, text, flags=re.MULTILINE)
    if count != 1:
        raise Problem(f"{what}: {count} places match {pattern!r}, one is needed; scripts/release/chart.py has to follow the chart")
    return found


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def metadata(version, settings, image, changes):
    """The lines that a release adds to Chart.yaml."""
    lines = [f"home: {settings['repository']}", f"icon: {quoted(ICON)}", "sources:", f"  - {settings['repository']}", "maintainers:"]
    for person in settings["maintainers"]:
        lines += [f"  - name: {quoted(person['name'])}", f"    email: {person['email']}"]
    lines += ["annotations:", "  artifacthub.io/license: Apache-2.0", '  artifacthub.io/prerelease: "%s"' % ("true" if version.startswith("0.") else "false"),
              "  artifacthub.io/images: |", f"    - name: {NAME}", f"      image: {image}", "      platforms:"]
    lines += [f"        - linux/{architecture}" for architecture in settings["architectures"]]
    lines += ["  artifacthub.io/links: |", "    - name: Documentation", f"      url: {settings['repository']}/-/tree/v{version}/docs",
              "    - name: Security", f"      url: mailto:{settings['security']}", "  artifacthub.io/changes: |"]
    lines += [f"    - {quoted(change)}" for change in changes]
    return "\n".join(lines) + "\n"


def files_of_tree():
    """{path below the chart: bytes} of what git tracks, without tests of the lint kind."""
    done = subprocess.run(["git", "-C", CHART, "ls-files", "."], capture_output=True, text=True, check=True)
    found = {}
    for name in done.stdout.splitlines():
        with open(os.path.join(CHART, name), "rb") as file:
            found[name] = file.read()
    return found


def released(version, settings, digest, changes):
    """{path below the chart: bytes} of the release's chart."""
    files = files_of_tree()
    repository = f"{settings['registry']}/{NAME}"
    values = files["values.yaml"].decode()
    values = replaced(values, rf"^  repository: {NAME}$", f"  repository: {repository}", "values.yaml")
    values = replaced(values, r'^  digest: ""$', f"  digest: {digest}", "values.yaml")
    files["values.yaml"] = values.encode()
    files["Chart.yaml"] += metadata(version, settings, f"{repository}:{version}@{digest}", changes).encode()
    return files


def package(files, time):
    """The bytes of the .tgz."""
    return tar_gz({f"{NAME}/{path}": (0o644, data) for path, data in files.items()}, time)


def config_of(text):
    """Chart.yaml as Helm puts it into an artifact's config: the scalars, lists and mappings that `metadata` and the tree write."""
    found, key, nested = {}, None, None
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            key, _, value = line.partition(":")
            found[key] = unquoted(value.strip())
            nested = None
        elif line.startswith("  - ") and key in ("sources", "keywords"):
            found[key] = [*(found[key] or []), unquoted(line[4:])]
        elif key == "maintainers":
            part, _, value = line.strip().removeprefix("- ").partition(": ")
            found[key] = found[key] or []
            if line.startswith("  - "):
                found[key].append({})
            found[key][-1][part] = unquoted(value)
        elif key == "annotations" and re.match(r"  \S", line):
            nested, _, value = line.strip().partition(": ")
            found[key] = {**(found[key] or {}), nested: "" if value == "|" else unquoted(value)}
        else:
            found[key][nested] += line[4:] + "\n"
    return found


def unquoted(text):
    return text[1:-1].replace('\\"', '"').replace("\\\\", "\\") if text.startswith('"') else text


def artifact(archive, version, config):
    """A layout with the chart as Helm's OCI artifact; config: Chart.yaml as JSON."""
    layout = Layout()
    manifest = layout.json_blob({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": layout.json_blob(config, CONFIG_TYPE),
        "layers": [layout.blob(archive, CONTENT_TYPE)],
        "annotations": {"org.opencontainers.image.title": NAME, "org.opencontainers.image.version": version}}, "application/vnd.oci.image.manifest.v1+json")
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version}
    layout.index([manifest])
    return layout


def install_yaml(files, helm):
    """The chart with its defaults, rendered, for kubectl apply --server-side."""
    if not os.access(helm, os.X_OK):
        raise Problem(f"{helm}: no Helm there, which renders install.yaml; run scripts/fetch-test-tools, or name one with --helm")
    with tempfile.TemporaryDirectory() as folder:
        for path, data in files.items():
            target = os.path.join(folder, NAME, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as out:
                out.write(data)
        done = subprocess.run([helm, "template", NAME, os.path.join(folder, NAME), "--namespace", NAME, "--set", "namespace.create=true", "--no-hooks"],
                              capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        raise Problem(f"helm template: {done.stderr.strip()}")
    return "# The chart with its default values, for kubectl apply --server-side.\n" + done.stdout
