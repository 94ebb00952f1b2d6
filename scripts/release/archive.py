"""The archives for workstations: every program with the libraries and the loader that it needs beside it (cmd/launcher), completions, licences."""
import os
import re
import subprocess

from elf import Elf
from image import stripped
from layout import tar_gz
from project import NAME, Problem, read

PROGRAMS = ("dra-controller-manager", "dra-sandbox", "kubectl-dra")
# kubectl calls this one for completions of `kubectl dra`; a file of its own, because krew refuses links.
COMPLETE = "kubectl_complete-dra"


def program_path(folder, name):
    path = os.path.join(folder, name)
    if not os.access(path, os.X_OK):
        raise Problem(f"{path}: not there; build the target {name} first")
    return path


def check_machine(path, architecture):
    machine = Elf(path).machine
    if machine != architecture:
        raise Problem(f"{path}: a program for {machine}, and the archive is for {architecture}")


def check_programs(folder, architecture):
    """Refuses a folder that lacks a program of the archive, or has one of another machine."""
    for name in (*PROGRAMS, "dra-launcher"):
        check_machine(program_path(folder, name), architecture)


def contents(folder, sysroot, names, top=""):
    """({path: (mode, bytes)}, {path in lib/: its package}) of the programs `names`, below `top`."""
    files, origins = {}, {}
    launcher_bytes = stripped(program_path(folder, "dra-launcher"), sysroot.architecture)
    for name in names:
        path = program_path(folder, name)
        files[f"{top}libexec/{name}"] = (0o755, stripped(path, sysroot.architecture))
        files[f"{top}bin/{name}"] = (0o755, launcher_bytes)
        loader = Elf(path).loader
        for inside in sysroot.libraries(path):
            target = f"{top}lib/" + ("loader" if inside == loader else os.path.basename(inside))
            with open(sysroot.path(inside), "rb") as file:
                files[target] = (0o755 if inside == loader else 0o644, file.read())
            origins[target] = sysroot.package_of(inside)
    if "kubectl-dra" in names:
        files[f"{top}bin/{COMPLETE}"] = (0o755, launcher_bytes)
    for package in (*origins.values(), *sysroot.compiled_in()):
        files[f"{top}licenses/{package.name}"] = (0o644, package.copyright.encode())
    files[f"{top}LICENSE"] = (0o644, read("LICENSE").encode())
    return files, origins


def readme(version, architecture):
    return f"""{NAME} {version}: programs for Linux on {architecture}

  bin/                            {", ".join(PROGRAMS)}; put it on PATH, and kubectl finds kubectl-dra as `kubectl dra`
  lib/, libexec/                  what bin/ starts: the programs, their libraries and loader; keep the three folders together
  completions/bash/dra-sandbox    source it, or copy it to ~/.local/share/bash-completion/completions/
  licenses/                       the licences of the libraries

Nothing has to be installed. Begin with: bin/dra-sandbox up
"""


BASH = """# bash completion of dra-sandbox; made from its --help
_dra_sandbox() {
  local word=${COMP_WORDS[COMP_CWORD]} words
  case "${COMP_WORDS[1]}" in
%s
    *) words="%s" ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words="%s"
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _dra_sandbox dra-sandbox
"""


def help_of(*command):
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=30, check=False)
    return done.stdout + done.stderr


def completion(program):
    """bash's completion of dra-sandbox, from the --help of a program that runs on this machine."""
    commands = re.findall(r"^  ([a-z]+)  ", help_of(program), re.MULTILINE)
    if not commands:
        raise Problem(f"{program} --help names no commands")
    cases = []
    for command in commands:
        flags = sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", help_of(program, command))))
        cases.append(f'    {command}) words="{" ".join(flags)}" ;;')
    return BASH % ("\n".join(cases), " ".join(commands), " ".join(commands))


def workstation(folder, sysroot, version, completions):
    """({path: (mode, bytes)}, origins) of the archive for one architecture."""
    top = f"{NAME}-{version}-linux-{sysroot.architecture}/"
    files, origins = contents(folder, sysroot, PROGRAMS, top)
    files[top + "completions/bash/dra-sandbox"] = (0o644, completions.encode())
    files[top + "README.txt"] = (0o644, readme(version, sysroot.architecture).encode())
    return files, origins


def plugin(folder, sysroot):
    """({path: (mode, bytes)}, origins) of the archive that krew unpacks: plain files and folders only."""
    return contents(folder, sysroot, ("kubectl-dra", ))


def packed(files, time):
    return tar_gz(files, time)
