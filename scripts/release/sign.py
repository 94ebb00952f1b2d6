"""Signatures of a release, in a folder of their own, so that the release itself stays the same bytes: the chart's provenance by gpg, the sums by openssl.
The image's is made by cosign, where it is present, in the registry to which the image was pushed."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile

from project import NAME, Problem, settings


def run(*command, stdin=None):
    done = subprocess.run(command, capture_output=True, text=True, input=stdin, check=False)
    if done.returncode != 0:
        raise Problem(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout


def provenance(package):
    """What Helm signs: Chart.yaml, and the sum of the .tgz."""
    with open(package, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    with tarfile.open(package) as tar:
        metadata = tar.extractfile(f"{NAME}/Chart.yaml").read().decode()
    return f"{metadata}\n...\nfiles:\n  {os.path.basename(package)}: sha256:{digest}\n"


def sign_image(folder, key):
    """Signs the pushed index by its digest; returns what was signed."""
    if not shutil.which("cosign"):
        raise Problem("--cosign: there is no program cosign on PATH; install it, or leave --cosign out")
    with open(os.path.join(folder, "image/index.json"), encoding="utf-8") as file:
        entry, = json.load(file)["manifests"]
    signed = f"{settings(True)['registry']}/{NAME}@{entry['digest']}"
    run("cosign", "sign", "--yes", "--key", key, signed)
    return signed


def sign(options):
    folder, out = options.folder, options.signatures
    packages = [name for name in os.listdir(folder) if re.fullmatch(rf"{NAME}-[\d.]+\.tgz", name)]
    sums = os.path.join(folder, "SHA256SUMS")
    if len(packages) != 1 or not os.path.isfile(sums):
        raise Problem(f"{folder}: no folder that scripts/release build wrote (it has {len(packages)} charts and {'a' if os.path.isfile(sums) else 'no'} SHA256SUMS)")
    if not options.gpg and not options.openssl and not options.cosign:
        raise Problem("nothing to sign with: give --gpg KEY for the chart, --openssl KEY.pem for the sums, --cosign KEY for the image in its registry")
    os.makedirs(out, exist_ok=True)
    if options.gpg:
        text = provenance(os.path.join(folder, packages[0]))
        signed = run("gpg", "--batch", "--yes", "--local-user", options.gpg, "--digest-algo", "SHA512", "--clearsign", "--output", "-", stdin=text)
        with open(os.path.join(out, packages[0] + ".prov"), "w", encoding="utf-8") as file:
            file.write(signed)
    if options.openssl:
        run("openssl", "dgst", "-sha256", "-sign", options.openssl, "-out", os.path.join(out, "SHA256SUMS.sig"), sums)
    if options.cosign:
        print(f"signed in its registry: {sign_image(folder, options.cosign)}")
    print(f"{out}: {', '.join(sorted(os.listdir(out)))}")


def add_parser(verbs):
    parser = verbs.add_parser("sign")
    parser.add_argument("folder")
    parser.add_argument("signatures")
    parser.add_argument("--gpg", metavar="KEY")
    parser.add_argument("--openssl", metavar="KEY.pem")
    parser.add_argument("--cosign", metavar="KEY", help="of the image that was pushed to the registry of project.json")
    parser.set_defaults(run=sign)
