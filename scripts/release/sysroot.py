"""The Debian system that a release's libraries come from: this machine, or a folder into which packages of another architecture were unpacked.
It knows which package brought a file, in which version, under which licence."""
import functools
import os
import re
import subprocess

from elf import Elf
from project import Problem

TRIPLES = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
# Packages whose headers or static archives are compiled in, so that no file of theirs is shipped: header libraries, the C++ library's templates, and what the
# static starter of archives (cmd/launcher) is linked from.
COMPILED_IN = ("nlohmann-json3-dev", "libcli11-dev", "libexpected-dev", "libboost1.74-dev", "libspdlog-dev", "libfmt-dev", "libsimdjson-dev", "libstdc++-12-dev",
               "libgcc-12-dev", "libc6-dev")


class Package:
    """A Debian package: name, version, architecture (or "all"), and the text of its copyright file."""

    def __init__(self, name, version, architecture, text):
        self.name, self.version, self.architecture, self.copyright = name, version, architecture, text

    def licences(self):
        """The short names of licences in a copyright file of Debian's machine-readable form; for others a name of the file itself."""
        if not self.copyright.startswith("Format:"):
            return [f"copyright file of {self.name}"]
        return sorted({name.strip().rstrip(",") for line in re.findall(r"^License: *(\S.*)$", self.copyright, re.MULTILINE)
                       for name in re.split(r" and | or |, ", line) if name.strip()})


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
        raise Problem(f"{name}: in none of {', '.join(self.folders)} below {self.root}; install the package that has it")

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

    @functools.cached_property
    def _owners(self):
        """{path inside: name of the package that brought it}, of this architecture and of all."""
        found, folder = {}, self.path("/var/lib/dpkg/info")
        for entry in sorted(os.listdir(folder)):
            name, _, architecture = entry.removesuffix(".list").partition(":")
            if entry.endswith(".list") and architecture in ("", self.architecture):
                with open(os.path.join(folder, entry), encoding="utf-8") as file:
                    found.update({line.rstrip("\n"): name for line in file})
        return found

    def package_of(self, inside):
        """The package that brought a file. Every file that is shipped has one, or the release is refused."""
        tried = [inside, inside.removeprefix("/usr"), "/usr" + inside]
        if self.root == "/":
            real = os.path.realpath(inside)
            tried += [real, real.removeprefix("/usr")]
        for path in tried:
            if path in self._owners:
                return self.package(self._owners[path])
        raise Problem(f"{self.path(inside)}: no package brought this file, so its version and licence are not known; a release ships files of packages only")

    def files_of(self, package):
        """The paths inside that a package brought."""
        return sorted(path for path, name in self._owners.items() if name == package)

    @functools.lru_cache(maxsize=None)
    def package(self, name):
        done = subprocess.run(["dpkg-query", f"--admindir={self.path('/var/lib/dpkg')}", "-W", "-f=${Version} ${Architecture}\n", name], capture_output=True, text=True,
                              check=False)
        rows = [line.split() for line in done.stdout.splitlines()]
        row = next((row for row in rows if len(row) == 2 and row[1] in (self.architecture, "all")), None)
        if not row:
            raise Problem(f"package {name} is not below {self.root} for {self.architecture}; run scripts/install-deps (or scripts/release/unpack for another machine's)")
        path = self.path(f"/usr/share/doc/{name}/copyright")
        if not os.path.isfile(path):
            raise Problem(f"{path}: not there, and a release carries the copyright file of everything in it; install {name} with its documentation")
        with open(path, encoding="utf-8", errors="replace") as file:
            return Package(name, *row, file.read())

    def compiled_in(self):
        return [self.package(name) for name in COMPILED_IN]
