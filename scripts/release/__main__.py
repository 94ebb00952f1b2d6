"""Writes everything that a release page carries into one folder.

    python3 scripts/release build VERSION FOLDER --programs amd64=DIR [--programs arm64=DIR --sysroot arm64=DIR] [--helm FILE] [--allow-placeholders]
    python3 scripts/release dist PROGRAMS ARCHIVE.tar.gz
    python3 scripts/release sign FOLDER SIGNATURES [--gpg KEY] [--openssl KEY.pem] [--cosign KEY]

`make release VERSION=1.2.3` compiles the programs first and calls the first form. docs/release.md lists the files, and how to publish and verify them.
"""
import argparse
import hashlib
import json
import os

import archive
import chart
import image
import krew
import notes
import project
import sbom
import sign

from elf import Elf
from sysroot import Sysroot, TRIPLES

SUMS = "SHA256SUMS"


def write(folder, name, data):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(data if isinstance(data, bytes) else data.encode())


def as_json(value):
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def write_boms(folder, name, material, time, settings):
    write(folder, f"{name}.cdx.json", as_json(sbom.cyclonedx(material, time)))
    write(folder, f"{name}.spdx.json", as_json(sbom.spdx(material, time, settings["repository"])))


def write_archives(folder, version, time, settings, places):
    """The archives for workstations and krew, their bills, and {architecture: (name, sha256)} of the latter."""
    machine = Elf("/proc/self/exe").machine
    if machine not in places:
        raise project.Problem(f"--programs {machine}=FOLDER is missing: completions are asked of a program that runs here")
    completions = archive.completion(os.path.join(places[machine][0], "dra-sandbox"))
    for_krew = {}
    for architecture, (programs, sysroot) in places.items():
        for files, origins, name in ((*archive.workstation(programs, sysroot, version, completions), f"{project.NAME}-{version}-linux-{architecture}"),
                                     (*archive.plugin(programs, sysroot), f"kubectl-dra-{version}-linux-{architecture}")):
            packed = archive.packed(files, time)
            write(folder, name + ".tar.gz", packed)
            write_boms(folder, name, sbom.Material(name, version, sysroot, {path: data for path, (_, data) in files.items()}, origins), time, settings)
            if name.startswith("kubectl-dra"):
                for_krew[architecture] = (name + ".tar.gz", hashlib.sha256(packed).hexdigest())
    return for_krew


def write_images(folder, version, time, settings, places):
    """The image layout and its bills; returns the digest of its index."""
    collected = {architecture: image.collect(os.path.join(programs, project.NAME), sysroot) for architecture, (programs, sysroot) in places.items()}
    layout, index = image.image_of(collected, version, time, {"source": settings["repository"], "revision": project.commit()})
    layout.write_folder(os.path.join(folder, "image"))
    for architecture, files in collected.items():
        material = sbom.Material(f"{project.NAME}-image", version, places[architecture][1], {path: data for path, (_, data, _) in files.items()},
                                 {path: package for path, (_, _, package) in files.items() if package})
        write_boms(folder, f"{project.NAME}-image-{version}-linux-{architecture}", material, time, settings)
    return index


def write_chart(folder, version, time, settings, index, helm):
    files = chart.released(version, settings, index, notes.changes(version))
    packed = chart.package(files, time)
    write(folder, f"{project.NAME}-{version}.tgz", packed)
    config = chart.config_of(files["Chart.yaml"].decode())
    chart.artifact(packed, version, config).write_folder(os.path.join(folder, "chart"))
    write(folder, "install.yaml", chart.install_yaml(files, helm))


def write_sums(folder):
    lines = []
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                lines.append(f"{hashlib.sha256(file.read()).hexdigest()}  {os.path.relpath(path, folder)}\n")
    write(folder, SUMS, "".join(sorted(lines, key=lambda line: line.split("  ")[1])))


def by_architecture(flag, values):
    """{architecture: folder} of values like amd64=FOLDER."""
    found = {}
    for value in values:
        architecture, equals, folder = value.partition("=")
        if not equals or architecture not in TRIPLES or not os.path.isdir(folder):
            raise project.Problem(f"{flag} {value}: want ARCHITECTURE=FOLDER with {' or '.join(TRIPLES)} and a folder that exists")
        found[architecture] = folder
    return found


def dist(options):
    architecture = Elf(archive.program_path(options.programs, "kubectl-dra")).machine
    archive.check_programs(options.programs, architecture)
    files, _ = archive.workstation(options.programs, Sysroot(architecture), project.version(),
                                   archive.completion(os.path.join(options.programs, "dra-sandbox")))
    with open(options.archive, "wb") as out:
        out.write(archive.packed(files, project.commit_time()))
    print(f"{options.archive}: {', '.join(archive.PROGRAMS)} for {architecture}, {os.path.getsize(options.archive) / 1e6:.1f} MB")


def build(options):
    project.check_version(options.version)
    settings = project.settings(options.allow_placeholders)
    if not options.allow_placeholders:
        project.check_clean()
    if os.path.exists(options.folder) and os.listdir(options.folder):
        raise project.Problem(f"{options.folder}: not empty; a release is written into a new folder")
    sysroots = by_architecture("--sysroot", options.sysroot)
    places = {architecture: (programs, Sysroot(architecture, sysroots.get(architecture, "/")))
              for architecture, programs in by_architecture("--programs", options.programs).items()}
    for programs, sysroot in places.values():
        archive.check_programs(programs, sysroot.architecture)
    settings["architectures"] = sorted(places)
    time = project.commit_time()
    for_krew = write_archives(options.folder, options.version, time, settings, places)
    index = write_images(options.folder, options.version, time, settings, places)
    write_chart(options.folder, options.version, time, settings, index, options.helm)
    write(options.folder, "dra.yaml", krew.manifest(options.version, settings, for_krew))
    write(options.folder, "RELEASE_NOTES.md", notes.notes(options.version, settings, f"{settings['registry']}/{project.NAME}:{options.version}@{index}",
                                                          f"{settings['registry']}/charts/{project.NAME}"))
    write_sums(options.folder)
    print(f"{options.folder}: {project.NAME} {options.version} for {', '.join(sorted(places))}, image {index}")


def main():
    parser = argparse.ArgumentParser(prog="scripts/release", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    make = verbs.add_parser("build")
    make.add_argument("version")
    make.add_argument("folder")
    make.add_argument("--programs", action="append", required=True, metavar="ARCHITECTURE=FOLDER")
    make.add_argument("--sysroot", action="append", default=[], metavar="ARCHITECTURE=FOLDER")
    make.add_argument("--helm", default=os.path.join(project.ROOT, "build/tools/helm4"))
    make.add_argument("--allow-placeholders", action="store_true")
    make.set_defaults(run=build)
    alone = verbs.add_parser("dist", help="the archive for workstations alone")
    alone.add_argument("programs", metavar="FOLDER")
    alone.add_argument("archive", metavar="ARCHIVE.tar.gz")
    alone.set_defaults(run=dist)
    sign.add_parser(verbs)
    options = parser.parse_args()
    try:
        options.run(options)
    except project.Problem as problem:
        raise SystemExit(f"release: {problem}") from None


if __name__ == "__main__":
    main()
