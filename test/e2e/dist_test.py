#!/usr/bin/env python3
"""The archive of scripts/build-dist: the same bytes each time, its programs start from any folder, its bash completion completes commands and
flags, and its README names the required libraries.

Usage: dist_test.py FOLDER_OF_PROGRAMS
"""
import os
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def build(programs, path):
    subprocess.run([os.path.join(ROOT, "scripts/build-dist"), programs, path], check=True, capture_output=True, timeout=60)
    with open(path, "rb") as file:
        return file.read()


def completed(folder, *words):
    """Bash's completions of the last word."""
    line = " ".join(f"'{word}'" for word in words)
    script = f"source {folder}/completions/bash/dra-sandbox; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _dra_sandbox; echo \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=folder).stdout.split()


def main():
    with tempfile.TemporaryDirectory(prefix="dra-dist-") as place:
        first, second = (build(sys.argv[1], os.path.join(place, name)) for name in ("a.tar.gz", "b.tar.gz"))
        assert first == second, "two archives of the same programs differ"
        with tarfile.open(os.path.join(place, "a.tar.gz")) as tar:
            tar.extractall(place, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(place)
        folder, = (os.path.join(place, name) for name in os.listdir(place) if not name.endswith(".gz"))
        for program in os.listdir(os.path.join(folder, "bin")):
            if program == "kubectl_complete-dra":
                continue
            done = subprocess.run([os.path.join(folder, "bin", program), "--help"], capture_output=True, text=True, check=False, cwd=place)
            assert "usage" in (done.stdout + done.stderr).lower(), (program, done)
        assert completed(folder, "dra-sandbox", "") == ["apiserver", "up"], completed(folder, "dra-sandbox", "")
        assert completed(folder, "dra-sandbox", "up", "--fl") == ["--fleet"]
        assert "--data-dir" in completed(folder, "dra-sandbox", "apiserver", "--")
        assert completed(folder, "dra-sandbox", "up", "LIC") == ["LICENSE"], "a file's name where no flag fits"
        with open(os.path.join(folder, "README.txt"), encoding="utf-8") as file:
            text = file.read()
        assert "libcurl" in text and "libsqlite3" in text, text
        empty = subprocess.run([os.path.join(ROOT, "scripts/build-dist"), place, os.path.join(place, "c")], capture_output=True, text=True, check=False)
        assert empty.returncode != 0 and "dra-sandbox first" in empty.stderr, empty
    print("6 passed, 0 failed")


if __name__ == "__main__":
    main()
