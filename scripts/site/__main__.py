"""Renders the pages of this tree as a site: static files, no request to another host, a folder for each version.

    python3 scripts/site FOLDER        # FOLDER/VERSION/, FOLDER/index.html lists the versions that are there; `make site` installs mkdocs first

Pages keep their places, so links among them stay as they are; links to files that are no pages lead to the repository (scripts/release/project.json). A page that
is in no part of the navigation, a link that leads nowhere and anything that a page would fetch from another host are errors.
"""
import html
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "release"))
import lists  # noqa: E402
import project  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def pages():
    """Every Markdown page of the site by its path in the tree; the README is the first page."""
    listed = subprocess.run(["git", "-C", project.ROOT, "ls-files", "docs/*.md", "examples/README.md", *ROOT_PAGES], capture_output=True, text=True, check=True)
    return ["README.md", *listed.stdout.split()]


def place(page):
    return "index.md" if page == "README.md" else page


def rewritten(page, known, repository, version):
    """The page's text: links to pages stay, links to other files of the tree lead to the repository; the rest is refused."""
    folder = os.path.dirname(page)

    def link(found):
        target, _, anchor = found.group(2).partition("#")
        if re.match(r"\w+:", target) or not target:
            return found.group(0)
        inside = os.path.normpath(os.path.join(folder, target))
        if inside in known or inside.endswith(".svg"):
            moved = os.path.relpath(place(inside), folder or ".")
            return found.group(1) + moved + ("#" + anchor if anchor else "") + found.group(3)
        there = os.path.join(project.ROOT, inside)
        if not os.path.exists(there):
            raise project.Problem(f"{page}: link to {target}, which is not in this tree")
        return f"{found.group(1)}{repository}/-/{'tree' if os.path.isdir(there) else 'blob'}/v{version}/{inside}{found.group(3)}"
    return lists.indented_by_four(LINK.sub(link, project.read(page)))


def navigation(entries, known):
    """mkdocs' nav: a folder stands for its pages, its README first. Every page must be somewhere."""
    seen = {"index.md", "docs/user/README.md"}

    def expand(entry):
        if isinstance(entry, dict):
            (title, items), = entry.items()
            return {title: items if isinstance(items, str) else [page for item in items for page in expand(item)]}
        found = [entry] if entry.endswith(".md") else sorted((page for page in known if page.startswith(entry + "/")), key=lambda page: (not page.endswith("README.md"), page))
        seen.update(found)
        return found
    nav = [expand(entry) for entry in entries]
    lost = sorted({place(page) for page in known} - seen)
    if lost:
        raise project.Problem(f"scripts/site/mkdocs.json: pages in no part of the navigation: {', '.join(lost)}")
    return nav


def render(folder, version, repository):
    known = set(pages())
    with open(os.path.join(HERE, "mkdocs.json"), encoding="utf-8") as file:
        config = json.load(file)
    with tempfile.TemporaryDirectory() as place_:
        source = os.path.join(place_, "source")
        for page in sorted(known):
            target = os.path.join(source, place(page))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as out:
                out.write(rewritten(page, known, repository, version))
        shutil.copy(os.path.join(project.ROOT, "docs/explain.svg"), os.path.join(source, "docs"))
        config |= {"docs_dir": source, "site_dir": os.path.join(folder, version), "nav": navigation(config["nav"], known), "copyright": f"Version {version}"}
        path = os.path.join(place_, "mkdocs.yml")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(config, out)  # JSON is YAML
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(project.commit_time())}
        done = subprocess.run(["mkdocs", "build", "--quiet", "--strict", "--clean", "--config-file", path], capture_output=True, text=True, env=environment, check=False)
        if done.returncode != 0:
            raise project.Problem(f"mkdocs: {done.stderr.strip()[-4000:]}")


class Page(html.parser.HTMLParser):
    """What a rendered page links to, fetches, and can be linked at."""

    def __init__(self, text):
        super().__init__()
        self.links, self.fetched, self.anchors = [], [], set()
        self.within, self.blocks_as_words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in ("pre", "code"):
            self.within.append(tag)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") in ("canonical", "next", "prev"):
            pass
        elif tag in ("link", "script", "img", "iframe", "source", "object"):
            self.fetched += [values[key] for key in ("href", "src", "data") if values.get(key)]

    def handle_endtag(self, tag):
        if tag in ("pre", "code") and self.within:
            self.within.pop()

    def handle_data(self, data):
        if self.within == ["code"] and (re.match(r"\w*\n", data) or data.count("\n") > 1):
            self.blocks_as_words.append(data.strip())


def check(folder):
    """Problems of a rendered site: links and anchors that lead nowhere, what would be fetched from elsewhere, blocks that are shown as words."""
    read = {}
    for there, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(there, name)
                with open(path, encoding="utf-8") as file:
                    read[path] = Page(file.read())
    for path, page in sorted(read.items()):
        name = os.path.relpath(path, folder)
        for text in page.blocks_as_words:
            yield f"{name}: a block of code is shown as words in a line: {text[:60]!r}"
        for target in page.fetched + page.links:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme in ("data", "mailto"):
                continue
            if parts.scheme or parts.netloc:
                if target in page.fetched:
                    yield f"{name}: would fetch {target}"
                continue
            if name == "404.html":
                continue  # its links are from the root of wherever the site is served
            there = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))) if parts.path else path
            if os.path.isdir(there):
                there = os.path.join(there, "index.html")
            if not os.path.exists(there):
                yield f"{name}: {target} leads nowhere"
            elif parts.fragment and there in read and urllib.parse.unquote(parts.fragment) not in read[there].anchors and parts.fragment != "__consent":
                yield f"{name}: {target}: that page has no such part"


def write_index(folder):
    versions = sorted((name for name in os.listdir(folder) if re.fullmatch(r"\d+\.\d+\.\d+", name)), key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    items = "\n".join(f'<li><a href="{html.escape(name)}/index.html">{html.escape(name)}{" (newest)" if name == versions[0] else ""}</a></li>' for name in versions)
    with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as out:
        out.write(f'''<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>dra-controller-manager: documentation</title>
<style>:root{{color-scheme:light dark}}body{{font:1.1rem/1.6 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}}</style></head>
<body><h1>dra-controller-manager</h1><p>Documentation, by version:</p><ul>
{items}
</ul></body></html>
''')


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    folder, version = os.path.abspath(sys.argv[1]), project.version()
    try:
        render(folder, version, project.settings(True)["repository"])
        write_index(folder)
    except project.Problem as problem:
        raise SystemExit(f"site: {problem}") from None
    problems = list(check(os.path.join(folder, version)))
    for problem in problems:
        print(f"site: {problem}", file=sys.stderr)
    if problems:
        raise SystemExit(1)
    print(f"{folder}/index.html: version {version}, {len(pages())} pages")


if __name__ == "__main__":
    main()
