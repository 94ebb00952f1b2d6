"""The Debian system that a release's libraries come from: this machine, or a folder into which packages of another architecture were unpacked.
It knows which package brought a file, in which version, under which licence."""
import functools
import os
import re
import subprocess

from elf import Elf

TRIPLES = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
# Libraries of which only headers are used: they are compiled in, and no file of theirs is shipped.
COMPILED_IN = ("nlohmann-json3-dev", "libcli11-dev", "libexpected-dev", "libboost1.74-dev", "libstdc++-12-dev")


class Sysroot:
    def __init__(self, architecture, root="/"):
        self.architecture, self.root = architecture, root
        triple = TRIPLES[architecture]
        self.folders = [f"/lib/{triple}", f"/usr/lib/{triple}", "/lib", "/usr/lib", "/lib64"]

    def path(self, inside):
        return os.path.join(self.root, inside.lstrip("/"))

    def find(self, name):
        """The path, inside, of a library."""
        for folder in self.folders:
            if os.path.exists(self.path(f"{folder}/{name}")):
                return f"{folder}/{name}"
        raise FileNotFoundError(f"{name}: in none of {', '.join(self.folders)} below {self.root}; install the package that has it")

    def libraries(self, program):
        """{path inside, where the loader looks: Elf}: the loader and all libraries of a program, found as the loader finds them."""
        first = Elf(program)
        found, waiting = {}, list(first.needed)
        if first.loader:
            found[first.loader] = Elf(self.path(first.loader))
        loader = os.path.basename(first.loader or "")
        while waiting:
            name = waiting.pop()
            if name == loader or any(os.path.basename(path) == name for path in found):
                continue
            place = self.find(name)
            found[place] = Elf(self.path(place))
            waiting += found[place].needed
        return dict(sorted(found.items()))

    @functools.lru_cache(maxsize=None)
    def package_of(self, inside):
        """The package that brought a file, or None."""
        real = os.path.realpath(self.path(inside))
        tried = [inside, inside.removeprefix("/usr"), "/usr" + inside]
        if self.root == "/":
            tried += [real, real.removeprefix("/usr")]
        for path in tried:
            done = subprocess.run(["dpkg-query", *self._database(), "-S", path], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return done.stdout.split(":")[0]
        return None

    @functools.lru_cache(maxsize=None)
    def version_of(self, package):
        name = package if self.root == "/" else f"{package}:{self.architecture}"
        done = subprocess.run(["dpkg-query", *self._database(), "-W", "-f=${Version}\n", name], capture_output=True, text=True, check=False)
        return done.stdout.split("\n")[0] or None

    def _database(self):
        return [] if self.root == "/" else [f"--admindir={self.path('/var/lib/dpkg')}"]

    def copyright_of(self, package):
        """The text of a package's copyright file."""
        path = self.path(f"/usr/share/doc/{package}/copyright")
        if not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def licences_of(self, package):
        """The short names of licences in a copyright file of Debian's machine-readable form; empty for others."""
        text = self.copyright_of(package) or ""
        if not text.startswith("Format:"):
            return []
        return sorted({name.strip().rstrip(",") for line in re.findall(r"^License: *(\S.*)$", text, re.MULTILINE)
                       for name in re.split(r" and | or |, ", line) if name.strip()})
