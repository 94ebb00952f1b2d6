"""Lists as Python-Markdown reads them: what belongs to an item is indented by four for each level there, and as far as the item's text in our pages, as in
CommonMark. Without it a fenced block of an item is shown as words in a line."""
import re

ITEM = re.compile(r"( *)(?:[-*+]|\d+[.)]) +(?=\S)")
FENCE = re.compile(r" *(```+|~~~+)")


def indented_by_four(text):
    lines, levels, fence = [], [], None  # levels: the column of each open item's text
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip():
            lines.append(line)
            continue
        if fence is None:
            item = ITEM.match(line)
            # An item closes those that do not contain it; so does a line that begins further left, unless it goes on with a paragraph.
            after_blank = not lines or not lines[-1].strip()
            while levels and indent < levels[-1] and (item or after_blank):
                levels.pop()
            depth = len(levels)
            inside = levels[-1] if levels else 0
            if item and indent - inside < 4:
                lines.append(" " * (4 * depth) + line[indent:])
                levels.append(item.end())
                continue
        inside, depth = (levels[-1], len(levels)) if levels else (0, 0)
        lines.append(" " * (4 * depth + max(0, indent - inside)) + line[indent:] if levels else line)
        if mark := FENCE.match(line):
            if fence is None:
                fence = mark[1]
            elif line.strip() == fence:
                fence = None
    return "\n".join(lines)
