"""A picture of a terminal: an SVG made of text, from an answer that a page of docs records, so that it cannot show what the program does not say."""
import html
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE, QUESTION, PICTURE = "docs/kubectl-dra.md", "$ kubectl dra explain pod/train-1 -n ml", "docs/explain.svg"
WIDTH, LINE, LEFT, TOP = 8.4, 19, 20, 58
NO_BREAK = "\u00a0"  # browsers fold other spaces


def answer():
    """The recorded lines, from the question to the empty line before the next one."""
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as file:
        lines = file.read().split("\n")
    first = lines.index(QUESTION)
    last = next(number for number in range(first, len(lines)) if not lines[number] or lines[number].startswith("(exit status"))
    return lines[first:last]


def colour(line):
    if line.startswith("$"):
        return "#a6e3a1"
    if re.match(r"(Does not fit|Pod |Would fit)", line):
        return "#f9e2af"
    return "#cdd6f4"


def picture():
    lines = answer()
    width = int(LEFT * 2 + WIDTH * max(len(line) for line in lines))
    height = TOP + LINE * len(lines)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
           f'aria-label="kubectl dra explain says why a pod waits, and what would help">', f'<rect width="{width}" height="{height}" rx="10" fill="#1e1e2e"/>']
    out += [f'<circle cx="{24 + 20 * at}" cy="22" r="6" fill="{fill}"/>' for at, fill in enumerate(("#f38ba8", "#f9e2af", "#a6e3a1"))]
    out.append('<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">')
    out += [f'<text x="{LEFT}" y="{TOP + LINE * number}" fill="{colour(line)}" textLength="{WIDTH * len(line):.1f}">{html.escape(line).replace(" ", NO_BREAK)}</text>'
            for number, line in enumerate(lines) if line]
    return "\n".join([*out, "</g>", "</svg>"]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(picture())
