#!/usr/bin/env python3
"""A release made from a second clone, in another folder, without a compiler cache, has the same bytes as the first. Takes as long as compiling does.

Usage: two_clones_test.py BUILD [--objects LIBRARY ...]

BUILD is the hardened preset's folder of this tree, which has no changes since its commit. The half for this machine's architecture is made again. With --objects
only these libraries, as ninja names them, are compiled again and compared with BUILD's, object by object, without symbols.
"""
import argparse
import filecmp
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts/release"))
import project  # noqa: E402


def run(*command, **options):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "CCACHE_DISABLE": "1"}, **options)


def compile_again(clone, jobs, targets):
    # Another depth than this tree's: a relative path that leaks differs, too.
    run("git", "clone", "--quiet", "--shared", ROOT, clone)
    run("cmake", "--preset", "hardened", cwd=clone)
    run("cmake", "--build", "build/hardened", "-j", jobs, "--target", *targets, cwd=clone)


def files_below(folder):
    return {os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names}


def same_folders(first, second):
    assert files_below(first) == files_below(second), files_below(first) ^ files_below(second)
    different = sorted(name for name in files_below(first) if not filecmp.cmp(os.path.join(first, name), os.path.join(second, name), shallow=False))
    assert not different, f"{len(different)} of {len(files_below(first))} files differ: {different[:10]}"
    return len(files_below(first))


def same_objects(first, second, libraries, place):
    compared = 0
    for library in libraries:
        folders = []
        for number, build in enumerate((first, second)):
            folder = os.path.join(place, f"{number}", library)
            os.makedirs(folder)
            run("ar", "x", os.path.join(build, library), cwd=folder)
            for name in os.listdir(folder):
                run("strip", "--strip-unneeded", name, cwd=folder)
            folders.append(folder)
        compared += same_folders(*folders)
    return compared


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--objects", nargs="+", default=[], metavar="LIBRARY")
    parser.add_argument("--jobs", default=str(os.cpu_count()))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dra-two-clones-") as place:
        clone = os.path.join(place, "in/another/folder/with-a-longer-name")
        compile_again(clone, options.jobs, options.objects or ["released"])
        again = os.path.join(clone, "build/hardened")
        if options.objects:
            print(f"{same_objects(options.build, again, options.objects, place)} objects are the same\n1 passed, 0 failed")
            return
        machine = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
        releases = []
        for number, (tree, build) in enumerate(((ROOT, options.build), (clone, again))):
            releases.append(os.path.join(place, f"release-{number}"))
            run(sys.executable, os.path.join(tree, "scripts/release"), "build", project.version(), releases[-1], "--allow-placeholders",
                "--programs", f"{machine}={build}/bin", "--helm", os.path.join(ROOT, "build/tools/helm4"))
        print(f"{same_folders(*releases)} files are the same\n1 passed, 0 failed")


if __name__ == "__main__":
    main()
