#!/usr/bin/env python3
"""A release folder (scripts/release): sums, archives that run in an empty root, what krew does with its archive, a chart that pins the image and renders
install.yaml, bills that name every file, signatures that verify, and what is refused.

Usage: release_test.py FOLDER_OF_PROGRAMS [--twice]     # --twice: a second release of the same programs has the same bytes
"""
import glob
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HELM = os.path.join(ROOT, "build/tools/helm4")
NAME = "dra-controller-manager"


def release(*arguments):
    return subprocess.run([sys.executable, os.path.join(ROOT, "scripts/release"), *arguments], capture_output=True, text=True, timeout=500, check=False)


def version():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"VERSION (\d+\.\d+\.\d+)", file.read()).group(1)


def architecture(programs):
    with open(os.path.join(programs, "kubectl-dra"), "rb") as file:
        return {62: "amd64", 183: "arm64"}[int.from_bytes(file.read(20)[18:20], "little")]


def build(programs, folder):
    done = release("build", version(), folder, "--programs", f"{architecture(programs)}={programs}", "--helm", HELM, "--allow-placeholders")
    assert done.returncode == 0, done.stderr
    return folder


def sums(folder):
    """{name: sha256} of SHA256SUMS, each compared with its file; no file is missing."""
    with open(os.path.join(folder, "SHA256SUMS"), encoding="utf-8") as file:
        listed = {name: digest for digest, name in (line.rstrip("\n").split("  ", 1) for line in file)}
    there = {os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names} - {"SHA256SUMS"}
    assert there == set(listed), there ^ set(listed)
    for name, digest in listed.items():
        with open(os.path.join(folder, name), "rb") as file:
            assert hashlib.sha256(file.read()).hexdigest() == digest, name
    return listed


def find(folder, start, end):
    name, = (name for name in os.listdir(folder) if name.startswith(start) and name.endswith(end))
    return os.path.join(folder, name)


def in_root(root, *command):
    return subprocess.run(["unshare", "--user", "--map-root-user", f"--root={root}", *command], capture_output=True, text=True, env={}, timeout=60, check=False)


def check_empty_root(folder, place):
    """The programs start where there is nothing but the archive: no libraries, no loader, no /proc."""
    with tarfile.open(find(folder, f"{NAME}-{version()}-linux-", ".tar.gz")) as tar:
        tar.extractall(place)
    top, = os.listdir(place)
    for program, words, expected in (("kubectl-dra", ["--version"], version()), ("dra-controller-manager", ["--version"], version()),
                                     ("dra-sandbox", ["up", "--help"], "--fleet"), ("kubectl_complete-dra", ["expl"], "explain")):
        done = in_root(place, f"/{top}/bin/{program}", *words)
        assert done.returncode == 0 and expected in done.stdout, (program, done)
    os.rename(os.path.join(place, top, "lib/loader"), os.path.join(place, top, "lib/gone"))
    done = in_root(place, f"/{top}/bin/kubectl-dra", "--version")
    assert done.returncode == 127 and "unpack the whole archive" in done.stderr, done


def check_completions(programs, place):
    """`scripts/release dist` alone: the same archive, whose bash completion completes commands and flags from any folder."""
    path = os.path.join(place, "a.tar.gz")
    assert release("dist", programs, path).returncode == 0
    with tarfile.open(path) as tar:
        tar.extractall(place)
    top, = (os.path.join(place, name) for name in os.listdir(place) if not name.endswith(".gz"))

    def completed(*words):
        line = " ".join(f"'{word}'" for word in words)
        script = f'source {top}/completions/bash/dra-sandbox; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _dra_sandbox; echo "${{COMPREPLY[@]}}"'
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=top).stdout.split()
    assert completed("dra-sandbox", "") == ["apiserver", "up"], completed("dra-sandbox", "")
    assert completed("dra-sandbox", "up", "--fl") == ["--fleet"]
    assert "--data-dir" in completed("dra-sandbox", "apiserver", "--")
    assert completed("dra-sandbox", "up", "LIC") == ["LICENSE"], "a file's name where no flag fits"


def check_krew(programs, folder, listed, place):
    """What krew documents: the archive's sum is the manifest's, its entries are files and folders only, `files` moves them, and `bin` is linked."""
    with open(os.path.join(folder, "dra.yaml"), encoding="utf-8") as file:
        manifest = file.read()
    for platform in manifest.split("  - selector:")[1:]:
        machine, uri, digest, program, source, target = (re.search(rf"\b{key}: (\S+)", platform).group(1).strip('"')
                                                         for key in ("arch", "uri", "sha256", "bin", "from", "to"))
        assert listed[uri.rsplit("/", 1)[1]] == digest and f"/v{version()}/" in uri, uri
        unpacked, store = os.path.join(place, machine + "-unpacked"), os.path.join(place, machine)
        with tarfile.open(os.path.join(folder, uri.rsplit("/", 1)[1])) as tar:
            assert all(entry.isfile() or entry.isdir() for entry in tar.getmembers()), "an entry that krew refuses"
            assert not any(entry.name.startswith(("/", "..")) for entry in tar.getmembers())
            tar.extractall(unpacked)
        for path in glob.glob(os.path.join(unpacked, source)):
            os.makedirs(os.path.join(store, target), exist_ok=True)
            os.rename(path, os.path.join(store, target, os.path.basename(path)))
        assert os.path.isfile(os.path.join(store, "LICENSE")), "krew's index wants a licence in the archive"
        linked = os.path.join(place, f"kubectl-dra-{machine}")
        os.symlink(os.path.join(store, program), linked)
        if machine == architecture(programs):
            done = subprocess.run([linked, "--version"], capture_output=True, text=True, check=False)
            assert done.returncode == 0 and version() in done.stdout, done


def check_chart(folder, place):
    with open(os.path.join(folder, "image/index.json"), encoding="utf-8") as file:
        digest = json.load(file)["manifests"][0]["digest"]
    package = find(folder, f"{NAME}-{version()}", ".tgz")
    done = subprocess.run([HELM, "template", NAME, package, "--namespace", NAME, "--set", "namespace.create=true", "--no-hooks"], capture_output=True, text=True,
                          check=True, cwd=place)
    with open(os.path.join(folder, "install.yaml"), encoding="utf-8") as file:
        rendered = file.read()
    assert rendered.split("\n", 1)[1] == done.stdout and f"@{digest}" in rendered, "install.yaml is not what the chart renders"
    subprocess.run([HELM, "lint", "--strict", package], check=True, capture_output=True)
    shown = subprocess.run([HELM, "show", "chart", package], capture_output=True, text=True, check=True).stdout
    assert "artifacthub.io/images" in shown and f"@{digest}" in shown and "maintainers:" in shown, shown
    with open(os.path.join(folder, "chart/index.json"), encoding="utf-8") as file:
        manifest = json.loads(blob(folder, "chart", json.load(file)["manifests"][0]["digest"]))
    config = json.loads(blob(folder, "chart", manifest["config"]["digest"]))
    with open(package, "rb") as file:
        assert blob(folder, "chart", manifest["layers"][0]["digest"]) == file.read()
    assert config["name"] == NAME and config["version"] == version() and config["annotations"]["artifacthub.io/license"] == "Apache-2.0", config
    assert f"@{digest}" in config["annotations"]["artifacthub.io/images"] and config["maintainers"][0]["email"], config


def blob(folder, layout, digest):
    with open(os.path.join(folder, layout, "blobs/sha256", digest.removeprefix("sha256:")), "rb") as file:
        return file.read()


def check_bills(folder):
    for name in os.listdir(folder):
        if not name.endswith((".tar.gz")):
            continue
        with tarfile.open(os.path.join(folder, name)) as tar:
            packed = {entry.name: hashlib.sha256(tar.extractfile(entry).read()).hexdigest() for entry in tar.getmembers() if entry.isfile()}
        with open(os.path.join(folder, name.replace(".tar.gz", ".cdx.json")), encoding="utf-8") as file:
            components = json.load(file)["components"]
        assert {part["name"]: part["hashes"][0]["content"] for part in components if part["type"] == "file"} == packed, name
        purls = {part["name"]: part["purl"] for part in components if part["type"] == "library"}
        assert "libcurl4" in purls and "nlohmann-json3-dev" in purls and purls["libcurl4"].startswith("pkg:deb/debian/libcurl4@"), purls
        with open(os.path.join(folder, name.replace(".tar.gz", ".spdx.json")), encoding="utf-8") as file:
            bill = json.load(file)
        assert {entry["fileName"].removeprefix("./") for entry in bill["files"]} == set(packed), name
        named = {one for package in bill["packages"] for one in re.findall(r"LicenseRef-\S+", package.get("licenseDeclared", ""))}
        assert named == {info["licenseId"] for info in bill["hasExtractedLicensingInfos"]}, named


def check_image(folder):
    """Certificates are those of Debian's package, whatever this machine trusts beside them; all that is in the image or compiled in has its copyright file there."""
    with open(os.path.join(folder, "image/index.json"), encoding="utf-8") as file:
        entry, = json.load(file)["manifests"]
    trusted = set()
    for path in glob.glob("/usr/share/ca-certificates/mozilla/*.crt"):
        with open(path, encoding="ascii") as file:
            trusted.add(file.read().strip())
    for one in json.loads(blob(folder, "image", entry["digest"]))["manifests"]:
        manifest = json.loads(blob(folder, "image", one["digest"]))
        config = json.loads(blob(folder, "image", manifest["config"]["digest"]))
        assert config["architecture"] == one["platform"]["architecture"] and config["created"].endswith("Z") and not config["created"].startswith("1970"), config
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob(folder, "image", manifest["layers"][0]["digest"])))) as tar:
            names = {entry.name for entry in tar.getmembers()}
            certificates = tar.extractfile("etc/ssl/certs/ca-certificates.crt").read().decode("ascii")
        found = {text.strip() + "\n-----END CERTIFICATE-----" for text in certificates.split("-----END CERTIFICATE-----") if text.strip()}
        assert found == trusted, f"{len(found - trusted)} certificates of authorities that Debian's package does not have"
        bill = find(folder, f"{NAME}-image-", f"-{config['architecture']}.spdx.json")
        with open(bill, encoding="utf-8") as file:
            packages = json.load(file)["packages"][1:]
        assert {package["name"] for package in packages} >= {"tzdata", "ca-certificates", "libc6", "nlohmann-json3-dev"}, packages
        assert all(package["licenseDeclared"] != "NOASSERTION" for package in packages)
        missing = {package["name"] for package in packages if f"usr/share/doc/{package['name']}/copyright" not in names}
        assert not missing and f"usr/share/doc/{NAME}/LICENSE" in names, missing


def check_signatures(folder, place):
    home = os.path.join(place, "gnupg")
    os.mkdir(home, 0o700)
    environment = {**os.environ, "GNUPGHOME": home}

    def run(*command):
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout
    run("gpg", "--batch", "--passphrase", "", "--quick-gen-key", "Release <release@example.com>", "rsa3072", "sign", "never")
    ring = os.path.join(place, "ring.gpg")
    run("gpg", "--batch", "--yes", "--output", ring, "--export", "release@example.com")
    key = os.path.join(place, "key.pem")
    run("openssl", "genpkey", "-quiet", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
    run("openssl", "pkey", "-in", key, "-pubout", "-out", key + ".pub")
    out = os.path.join(place, "signatures")
    run(sys.executable, os.path.join(ROOT, "scripts/release"), "sign", folder, out, "--gpg", "release@example.com", "--openssl", key)
    # A stand-in for cosign says with what it was called: the image's index by its digest.
    stand_in = os.path.join(place, "cosign")
    with open(stand_in, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\necho "$@" > {place}/called\n')
    os.chmod(stand_in, 0o755)
    environment["PATH"] = place + os.pathsep + environment["PATH"]
    run(sys.executable, os.path.join(ROOT, "scripts/release"), "sign", folder, out, "--cosign", "cosign.key")
    with open(os.path.join(folder, "image/index.json"), encoding="utf-8") as file:
        digest = json.load(file)["manifests"][0]["digest"]
    with open(os.path.join(place, "called"), encoding="utf-8") as file:
        assert re.fullmatch(rf"sign --yes --key cosign.key \S+/{NAME}@{digest}\n", file.read())
    sums_file = os.path.join(folder, "SHA256SUMS")
    run("openssl", "dgst", "-sha256", "-verify", key + ".pub", "-signature", os.path.join(out, "SHA256SUMS.sig"), sums_file)
    package = find(folder, f"{NAME}-{version()}", ".tgz")
    copy = os.path.join(place, os.path.basename(package))
    for source, target in ((package, copy), (os.path.join(out, os.path.basename(package) + ".prov"), copy + ".prov")):
        with open(source, "rb") as file, open(target, "wb") as made:
            made.write(file.read())
    run(HELM, "verify", copy, "--keyring", ring)
    with open(copy, "ab") as file:
        file.write(b"x")
    spoilt = subprocess.run([HELM, "verify", copy, "--keyring", ring], capture_output=True, text=True, env=environment, check=False)
    assert spoilt.returncode != 0, "a chart that was changed verifies"


def check_refusals(programs, folder, place):
    ours = f"{architecture(programs)}={programs}"
    for words, expected in (
            (["build", version(), os.path.join(place, "a"), "--programs", ours], "still an example"),
            (["build", "9.9.9", os.path.join(place, "a"), "--programs", ours, "--allow-placeholders"], "scripts/set-version 9.9.9"),
            (["build", "v1", os.path.join(place, "a"), "--programs", ours, "--allow-placeholders"], "not of the form 1.2.3"),
            (["build", version(), folder, "--programs", ours, "--allow-placeholders"], "not empty"),
            (["build", version(), os.path.join(place, "a"), "--programs", f"amd64={place}", "--allow-placeholders"], "not there; build the target"),
            (["build", version(), os.path.join(place, "a"), "--programs", programs, "--allow-placeholders"], "want ARCHITECTURE=FOLDER"),
            (["dist", place, os.path.join(place, "a")], "not there; build the target"),
            (["sign", folder, os.path.join(place, "s")], "nothing to sign with"), (["sign", place, os.path.join(place, "s"), "--gpg", "x"], "no folder that")):
        done = release(*words)
        assert done.returncode != 0 and expected in done.stderr, (words, done)


def main():
    programs = os.path.abspath(sys.argv[1])
    names = ("dra-controller-manager", "dra-sandbox", "kubectl-dra", "dra-launcher")
    if not all(os.access(os.path.join(programs, name), os.X_OK) for name in names) or not os.access(HELM, os.X_OK):
        print("skipped: no Helm, or not all programs were built")
        return 77
    passed = 0
    with tempfile.TemporaryDirectory(prefix="dra-release-") as place:
        folder = build(programs, os.path.join(place, "first"))
        listed = sums(folder)
        checks = [lambda at: check_krew(programs, folder, listed, at), lambda at: check_chart(folder, at), lambda _: check_bills(folder), lambda _: check_image(folder),
                  lambda at: check_completions(programs, at), lambda at: check_refusals(programs, folder, at)]
        if subprocess.run(["unshare", "--user", "--map-root-user", "true"], capture_output=True, check=False).returncode == 0:
            checks.append(lambda at: check_empty_root(folder, at))
        if subprocess.run(["sh", "-c", "command -v gpg openssl"], capture_output=True, check=False).returncode == 0:
            checks.append(lambda at: check_signatures(folder, at))
        for check in checks:
            with tempfile.TemporaryDirectory(dir=place) as at:
                check(at)
            passed += 1
        if "--twice" in sys.argv:
            assert sums(build(programs, os.path.join(place, "second"))) == listed, "two releases of the same programs differ"
            passed += 1
    print(f"{passed + 1} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
