#!/usr/bin/env python3
"""The screen of `kubectl dra top -w` in a pseudo-terminal, with real programs: keys, sizes, a change in the cluster, names that try to steer the terminal,
a server that goes away; and the terminal as it was after q, Ctrl-C, Ctrl-Z, signals, a crash, and a hang-up.

Usage: screen_test.py FOLDER_OF_PROGRAMS
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import sandbox  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
TEMPLATES = rest.RESOURCE + "/namespaces/default/resourceclaimtemplates"
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
FAILURES = []
SEQUENCE = re.compile(rb"\x1b\[([?0-9;]*)([A-Za-z])")
FLAGS = (termios.ECHO, termios.ICANON, termios.ISIG, termios.IEXTEN)


def check(holds, what, text=""):
    print(("ok      " if holds else "FAILED  ") + what + ("" if holds else f"\n{text}"), flush=True)
    if not holds:
        FAILURES.append(what)


def width(char):
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


class Screen:
    """A program in its own terminal, and what that shows: enough of a terminal to obey the program, and nothing else."""

    def __init__(self, words, environment, columns=100, lines=24):
        self.size = (columns, lines)
        self.cells = {}
        self.row = self.column = 0
        self.modes = {}
        self.raw = self.rest = b""
        self.unknown = []
        self.master, self.slave = pty.openpty()
        self.resize(columns, lines, tell=False)
        self.before = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(self.slave, fd)
            os.closerange(3, 1000)
            os.execvpe(words[0], words, {**environment, "TERM": "xterm"})

    def resize(self, columns, lines, tell=True):
        self.size = (columns, lines)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        if tell:
            self.cells = {}

    def obey(self, data):
        self.raw += data
        data = self.rest + data
        at = 0
        while at < len(data):
            if data[at] == 0x1b:
                found = SEQUENCE.match(data, at)
                if not found:
                    if len(data) - at < 16:
                        break  # its end is to come
                    self.unknown.append(data[at:at + 16])
                    at += 1
                    continue
                self.sequence(found.group(1).decode(), found.group(2).decode())
                at = found.end()
                continue
            length = 1 if data[at] < 0x80 else 2 if data[at] < 0xe0 else 3 if data[at] < 0xf0 else 4
            if at + length > len(data):
                break
            self.put(data[at:at + length].decode(errors="replace"))
            at += length
        self.rest = data[at:]

    def sequence(self, parameters, final):
        if final == "H":
            numbers = [int(one or 1) for one in (parameters or "1;1").split(";")]
            self.row, self.column = numbers[0] - 1, numbers[1] - 1
        elif final == "J":
            self.cells = {}
        elif final == "K":
            self.cells = {where: char for where, char in self.cells.items() if where[0] != self.row or where[1] < self.column}
        elif final in "hl" and parameters.startswith("?"):
            self.modes[parameters[1:]] = final == "h"
        elif final != "m":
            self.unknown.append((parameters, final))

    def put(self, char):
        if char in "\r\n":
            self.row, self.column = (self.row, 0) if char == "\r" else (self.row + 1, self.column)
            return
        if ord(char) < 0x20 or 0x7f <= ord(char) < 0xa0:
            self.unknown.append(char)
            return
        if self.column + width(char) > self.size[0] or self.row >= self.size[1]:
            self.unknown.append(f"{char!r} at {self.row},{self.column} of {self.size}")
        self.cells[(self.row, self.column)] = char
        self.column += width(char)

    def lines(self):
        rows = []
        for row in range(self.size[1]):
            text, column = "", 0
            for where in sorted(where for where in self.cells if where[0] == row):
                text += " " * max(0, where[1] - column) + self.cells[where]
                column = max(column, where[1]) + width(self.cells[where])
            rows.append(text.rstrip())
        return rows

    def text(self):
        return "\n".join(self.lines())

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.obey(os.read(self.master, 65536))
            except OSError:
                return False
        return True

    def wait_for(self, mark, seconds=30):
        found = mark if callable(mark) else lambda text: mark in text
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found(self.text()):
                return True
            self.read(0.05)
        return found(self.text())

    def type(self, text):
        os.write(self.master, text.encode())

    def status(self, seconds=15):
        """The exit status, or None; -N for a signal."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while select.select([self.master], [], [], 0.05)[0]:
                    self.obey(os.read(self.master, 65536))
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return None

    def as_it_was(self):
        """Whether the terminal has its modes, its page, its cursor and its wrapping again."""
        now = termios.tcgetattr(self.slave)
        return now[:4] == self.before[:4] and self.modes.get("1049") is False and self.modes.get("25") is True and self.modes.get("7") is True

    def is_raw(self):
        return not any(termios.tcgetattr(self.slave)[3] & flag for flag in FLAGS)

    def close(self):
        for fd in (self.master, self.slave):
            os.close(fd)


def shown(environment, words=("top", "-w"), mark="node-0", **size):
    screen = Screen(["kubectl-dra", *words], environment, **size)
    if not screen.wait_for(mark):
        check(False, f"{' '.join(words)} shows {mark}", screen.text() + repr(screen.raw[-500:]))
    return screen


def ends(screen, what, expected, act):
    act()
    status = screen.status()
    check(status == expected and screen.as_it_was(), f"{what}: status {expected}, and the terminal is as it was", f"{status} {screen.modes} {termios.tcgetattr(screen.slave)[:4]} {screen.before[:4]}")
    check(not screen.unknown, f"{what}: nothing was written beyond the screen", repr(screen.unknown[:5]))
    screen.close()


def keys(environment, api):
    screen = shown(environment)
    check(screen.is_raw() and screen.modes.get("1049") is True, "top -w takes the terminal")
    check("top nodes (2)" in screen.text() and "as of" in screen.text() and "? help" in screen.text(), "it says what it shows, since when, and which keys there are", screen.text())
    screen.type("?")
    check(screen.wait_for("any key goes back"), "? shows the keys", screen.text())
    screen.type("x\r")
    check(screen.wait_for(lambda text: "who node/node-0" in text and "gpu-0" in text), "Enter shows who holds the devices of the node", screen.text())
    screen.type("/default\r")
    check(screen.wait_for(lambda text: "filter: default" in text and "default/holds" in text), "/ leaves the rows with the words", screen.text())
    screen.type("e")
    check(screen.wait_for(lambda text: "explain claim/holds" in text and "reserved for holds" in text), "e explains the claim", screen.text())
    screen.type("\x1b")
    check(screen.wait_for("filter: default"), "Escape goes back", screen.text())
    screen.type("3")
    check(screen.wait_for(lambda text: "top claims" in text and "holds" in text), "3 shows claims", screen.text())
    screen.type("5")
    check(screen.wait_for(lambda text: "waits" in text and "CAUSE" in text), "5 shows what waits, by cause", screen.text())
    screen.type("1")
    screen.wait_for("top nodes")
    screen.type("sss")
    check(screen.wait_for("sorted by"), "s sorts", screen.text())
    screen.type("r")
    check(screen.wait_for("reversed"), "r reverses", screen.text())
    # The cluster changes while it is looked at.
    screen.type("3")
    screen.wait_for("top claims")
    api.create(CLAIMS, {"metadata": {"name": "appears"}, "spec": rest.template("x", count=99)["spec"]["spec"]})
    check(screen.wait_for("appears", 20), "a new claim appears by itself", screen.text())
    ends(screen, "q", 0, lambda: screen.type("q"))


def sizes(environment):
    screen = shown(environment)
    for columns, lines in ((40, 10), (20, 5), (3, 2), (1, 1), (200, 50), (80, 24)):
        screen.resize(columns, lines)
        screen.wait_for(lambda text, lines=lines: len(text) > 0, 10)
        time.sleep(0.2)
        screen.read(0.2)
        check(not screen.unknown, f"{columns} columns and {lines} lines are kept to", repr(screen.unknown[:3]))
        screen.unknown.clear()
    check(screen.wait_for(lambda text: "node-1" in text and "? help" in text), "after all sizes it is whole again", screen.text())
    ends(screen, "q after sizes", 0, lambda: screen.type("q"))


def endings(environment):
    for what, expected, act in (("Ctrl-C", 0, lambda one: one.type("\x03")), ("SIGTERM", 0, lambda one: os.kill(one.pid, signal.SIGTERM)),
                                ("SIGINT", 0, lambda one: os.kill(one.pid, signal.SIGINT)), ("SIGHUP", 0, lambda one: os.kill(one.pid, signal.SIGHUP)),
                                ("a crash", -signal.SIGSEGV, lambda one: os.kill(one.pid, signal.SIGSEGV)), ("an abort", -signal.SIGABRT, lambda one: os.kill(one.pid, signal.SIGABRT))):
        screen = shown(environment)
        ends(screen, what, expected, lambda act=act, screen=screen: act(screen))
    # The terminal hangs up: the program ends, and does not spin.
    screen = shown(environment)
    os.close(screen.slave)
    os.close(screen.master)
    end = time.monotonic() + 10
    gone = (0, 0)
    while gone[0] == 0 and time.monotonic() < end:
        gone = os.waitpid(screen.pid, os.WNOHANG)
        time.sleep(0.05)
    check(gone[0] != 0, "a terminal that is gone ends it")
    if gone[0] == 0:
        os.kill(screen.pid, signal.SIGKILL)


def suspends(environment):
    for what, act in (("Ctrl-Z", lambda one: one.type("\x1a")), ("SIGTSTP", lambda one: os.kill(one.pid, signal.SIGTSTP))):
        # In a job of a shell, which sees that it stopped: an orphan would not be stopped by the terminal.
        screen = Screen(["sh", "-c", "set -m; kubectl-dra top -w; echo stopped with $?; fg >/dev/null; echo over"], environment)
        screen.wait_for("node-0")
        child = next((int(pid) for pid in os.listdir("/proc") if pid.isdigit() and parent_of(pid) == screen.pid), None)
        job, screen.pid = screen.pid, child
        act(screen)
        # What the shell says is seen for a moment: fg draws the screen again.
        stopped = screen.wait_for(lambda _, screen=screen: b"stopped with" in screen.raw)
        check(stopped and b"\x1b[?1049l" in screen.raw, f"{what} gives the terminal back", screen.text())
        back = screen.wait_for(lambda text: "node-0" in text and "? help" in text)
        check(back and screen.is_raw(), f"and after {what} fg takes it again", screen.text())
        screen.type("q")
        screen.pid = job
        check(screen.wait_for("over") and screen.status() == 0, f"it ends as ever after {what}", screen.text())
        screen.close()


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return -1


HOSTILE = {"example.com/clear": "\x1b[2J\x1b]0;title\x07", "example.com/c1": "\u009b31m", "example.com/turn": "\u202egnp.exe\u2066", "example.com/wide": "漢字" * 60}


def hostile(environment, api):
    devices = [{"name": "gpu-0", "attributes": {"model": {"string": "漢字 \x1b[31m"}}}]
    api.create("/api/v1/nodes", {"metadata": {"name": "odd", "annotations": HOSTILE}, "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"}}})
    api.create(rest.RESOURCE + "/resourceslices", {"metadata": {"name": "odd"}, "spec": {"driver": "odd.example.com", "nodeName": "odd",
               "pool": {"name": "odd", "generation": 1, "resourceSliceCount": 2}, "devices": devices}})
    selector = [{"cel": {"expression": 'device.attributes["gpu.example.com"].model == "\x1b[2J\x1b]0;title\x07\u009b31m漢字\u202egnp"'}}]
    spec = rest.template("x", count=1)["spec"]["spec"]
    (spec["devices"]["requests"][0].get("exactly") or spec["devices"]["requests"][0])["selectors"] = selector
    api.create(CLAIMS, {"metadata": {"name": "odd"}, "spec": spec})
    screen = shown(environment, ("top", "claims", "-w"), "odd", columns=70)
    screen.type("/odd\re")
    check(screen.wait_for("explain claim/odd"), "a claim with a hostile selector is explained", screen.text())
    screen.wait_for(lambda text: "asking..." not in text)
    check(not screen.unknown and b"title\x07" not in screen.raw and b"\xc2\x9b" not in screen.raw and "\u202e" not in screen.text(), "control sequences and marks of direction are spelled out", repr(screen.unknown[:5]))
    print(screen.text())
    ends(screen, "q after hostile texts", 0, lambda: screen.type("q"))


def stays_text(environment):
    """Without a terminal, or with a form for programs, -w is what it was."""
    dumb = Screen(["env", "TERM=dumb", "kubectl-dra", "top", "-w"], environment)
    check(dumb.wait_for("TOTAL") and "1049" not in dumb.modes, "TERM=dumb gets the table", dumb.text())
    dumb.type("\x03")
    check(dumb.status() == 0, "and Ctrl-C ends it")
    dumb.close()
    for words in (["top", "-w", "-o", "json"], ["who", "node-0", "-w"], ["top", "-w", "--no-headers"]):
        plain = Screen(["kubectl-dra", *words], environment)
        check(plain.wait_for("gpu") and "1049" not in plain.modes, f"{' '.join(words)} is printed", plain.text())
        plain.type("\x03")
        plain.status()
        plain.close()
    wrong = Screen(["kubectl-dra", "top", "-w", "--sort-by", "nothing"], environment)
    check(wrong.status() == 2 and "there is no such column" in wrong.text() and "1049" not in wrong.modes, "a wrong flag is said on the usual page", wrong.text())
    wrong.close()


def outage(box, environment):
    """Last: the server goes away."""
    screen = shown(environment)
    box.process.send_signal(signal.SIGSTOP)
    screen.type("\r")
    check(screen.wait_for("who node/node-0", 5) and screen.wait_for("gpu-0", 10), "a server that does not answer keeps nobody from looking", screen.text())
    screen.type("\x1b")
    box.process.send_signal(signal.SIGCONT)
    screen.wait_for("top nodes")
    box.process.send_signal(signal.SIGKILL)
    box.process.wait()
    check(screen.wait_for("not read:", 30) and "node-0" in screen.text() and "as of" in screen.text(), "when the server is gone the screen says so and keeps the last state with its time", screen.text())
    ends(screen, "q without a server", 0, lambda: screen.type("q"))
    never = Screen(["kubectl-dra", "top", "-w"], environment)
    check(never.status(90) == 3 and "1049" not in never.modes, "without a server from the start there is no screen", never.text())
    never.close()


def main():
    programs = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        fleet = os.path.join(folder, "fleet.yaml")
        with open(fleet, "w", encoding="utf-8") as out:
            out.write(rest.fleet(2, 2))
        box = sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--fleet", fleet])
        box.__enter__()
        try:
            api = rest.Api(box.kubeconfig)
            environment = {**os.environ, "KUBECONFIG": box.kubeconfig, "HOME": box.folder, "PATH": programs + ":" + os.environ["PATH"]}
            for name in ("COLUMNS", "LINES", "NO_COLOR"):
                environment.pop(name, None)
            api.create(TEMPLATES, rest.template("two", count=2))
            api.create(PODS, rest.pod("holds", "two"))
            box.wait_for(lambda: api.get(PODS + "/holds")["status"].get("phase") == "Running", 30, "the pod to run")
            api.create(TEMPLATES, rest.template("nine", count=9))
            api.create(PODS, rest.pod("waits", "nine"))
            keys(environment, api)
            sizes(environment)
            endings(environment)
            suspends(environment)
            hostile(environment, api)
            stays_text(environment)
            outage(box, environment)
        finally:
            box.process.kill()
            box.process.wait()
    print(f"{len(FAILURES)} failed")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
