"""Release notes: the version's section of CHANGELOG.md, with what it needs, does not do, and its known limits; and its first lines as changes."""
import re

from project import Problem, read


def section(version):
    """The text below "## VERSION", without the heading."""
    found = re.search(rf"^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)", read("CHANGELOG.md"), re.MULTILINE | re.DOTALL)
    if not found:
        raise Problem(f"CHANGELOG.md has no section ## {version}; write it")
    return found.group(1).strip() + "\n"


def changes(version):
    """One line for each point of the section's first list, without its subordinate points and links."""
    first = re.search(r"^- .*?(?=^### |\Z)", section(version), re.MULTILINE | re.DOTALL)
    points = re.split(r"^- ", first.group(0), flags=re.MULTILINE)[1:]
    return [re.sub(r"[*`]|\[([^\]]*)\]\([^)]*\)", lambda m: m.group(1) or "", re.split(r"\n  - ", point)[0]).replace("\n", " ").replace("  ", " ").strip()
            for point in points]


def notes(version, settings, image, chart):
    body = re.sub(r"\]\((?!https?:)([^)]+)\)", rf"]({settings['repository']}/-/blob/v{version}/\1)", section(version))
    return f"""# {version}

    helm install dra-controller-manager oci://{chart} --version {version} --namespace dra-controller-manager --create-namespace

Image: `{image}`. The files of this release are listed in SHA256SUMS; docs/release.md says how to verify them.

{body}"""
