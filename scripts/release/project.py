"""What a release says about the project: the version (CMakeLists.txt), the time (that of the commit), and project.json, the one file that holds addresses
and names. Its values in the tree are examples, and a release that would carry one is refused."""
import json
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAME = "dra-controller-manager"
FILE = "scripts/release/project.json"
CHART = os.path.join(ROOT, "charts", NAME)
SUMMARY = "Allocates devices (Dynamic Resource Allocation) exactly, proves every allocation, and says why nothing fits"


class Problem(Exception):
    """What keeps a release from being made, in words for whoever makes it."""


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def version():
    """The version that CMakeLists.txt gives to the programs."""
    return re.search(r"^project\(\w+ VERSION (\d+\.\d+\.\d+) ", read("CMakeLists.txt"), re.MULTILINE).group(1)


def check_version(asked):
    if not re.fullmatch(r"\d+\.\d+\.\d+", asked):
        raise Problem(f"VERSION={asked}: not of the form 1.2.3")
    if asked != version():
        raise Problem(f"VERSION={asked}, but CMakeLists.txt says {version()}: run scripts/set-version {asked}, commit, and try again")
    for place in stale_versions():
        raise Problem(place)


def stale_versions():
    """Places that name another version than CMakeLists.txt, each with what to do."""
    expected = version()
    chart = read("charts", NAME, "Chart.yaml")
    for key in ("version", "appVersion"):
        found = re.search(rf"^{key}: \"?([^\s\"]+)", chart, re.MULTILINE).group(1)
        if found != expected:
            yield f"charts/{NAME}/Chart.yaml: {key} is {found}, CMakeLists.txt says {expected}: run scripts/set-version {expected}"
    lock = json.loads(read("headlamp/package-lock.json"))
    for place, found in (("package.json", json.loads(read("headlamp/package.json"))), ("package-lock.json", lock), ("package-lock.json", lock["packages"][""])):
        if (found["name"], found["version"]) != (NAME, expected):
            yield f"headlamp/{place}: {found['name']} {found['version']}, CMakeLists.txt says {NAME} {expected}: run scripts/set-version {expected}"
    for line in read("charts/install.yaml").splitlines():
        found = re.search(r"app\.kubernetes\.io/version: (\S+)", line)
        if found and found.group(1) != expected:
            yield f"charts/install.yaml: version {found.group(1)}, CMakeLists.txt says {expected}: run scripts/render-install > charts/install.yaml"
            return


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Problem(f"{ROOT}: no git repository, so the commit of the release and its time are not known; make releases from a clone")
    return done.stdout


def commit_time():
    """Seconds since 1970 of the newest commit: the time of every file of a release."""
    return int(git("log", "-1", "--format=%ct"))


def commit():
    return git("rev-parse", "HEAD").strip()


def check_clean():
    """A release is what its commit says."""
    changed = git("status", "--porcelain", "--untracked-files=no").splitlines()
    if changed:
        raise Problem(f"{changed[0][3:]}{f' and {len(changed) - 1} more' if len(changed) > 1 else ''}: changed since the commit; commit, or pass --allow-placeholders to try the release")


def examples(value, path=""):
    """The paths of values that are examples."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from examples(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from examples(item, f"{path}[{index}]")
    elif re.search(r"\bexample\.(com|org|net)\b", value):
        yield path


def settings(allow_placeholders):
    """project.json; refused with the names of what is still an example."""
    found = json.loads(read(FILE))
    left = list(examples(found))
    if left and not allow_placeholders:
        raise Problem(f"{FILE}: {', '.join(left)}: still an example; write the real values, or pass --allow-placeholders to try the release")
    return found
