#!/usr/bin/env python3
"""kubectl-dra at a terminal, with real programs: completion in bash, zsh and fish, pages of 40 and 80 columns, -w, servers that serve older
versions of resource.k8s.io or none, and invalid names.

Usage: kubectl_dra_terminal_test.py FOLDER_OF_PROGRAMS
"""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import api as rest  # noqa: E402
import sandbox  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
TEMPLATES = rest.RESOURCE + "/namespaces/default/resourceclaimtemplates"
CLAIMS = rest.RESOURCE + "/namespaces/default/resourceclaims"
LONG = "a-pod-with-a-name-that-is-longer-than-a-narrow-page-is-wide"
FAILURES = []


def check(holds, what, text=""):
    print(("ok      " if holds else "FAILED  ") + what + ("" if holds else f"\n{text}"))
    if not holds:
        FAILURES.append(what)


class Terminal:
    """A program in its own terminal."""

    def __init__(self, words, environment, columns=200):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
            os.execvpe(words[0], words, {**environment, "TERM": "dumb"})

    def wait_for(self, mark, seconds=20):
        """Reads until the mark appears (a string or a function of the text); returns whether it did."""
        found = mark if callable(mark) else lambda text: mark in text
        end = time.monotonic() + seconds
        while not found(self.text) and time.monotonic() < end:
            if not select.select([self.fd], [], [], 0.1)[0]:
                continue
            try:
                piece = os.read(self.fd, 65536)
            except OSError:  # the program has ended
                break
            if not piece:
                break
            self.text += piece.decode(errors="replace")
        return found(self.text)

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, number=None, seconds=20):
        """Sends the signal; returns the exit status."""
        if number is not None:
            os.kill(self.pid, number)
        self.wait_for(lambda _: False, seconds)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return status


def in_zsh(environment, lines):
    """The lines after zsh completes the typed ones at a Tab."""
    shell = Terminal(["zsh", "-f", "-i"], {**environment, "ZDOTDIR": "/nonexistent"})
    shell.type('autoload -Uz compinit; compinit -u -D; source <(kubectl-dra completion zsh); show() { BUFFER="print -r -- \\"<$BUFFER>\\""; zle accept-line };'
               ' zle -N show; bindkey "^X" show; bindkey; print rea""dy\n')
    shell.wait_for("\nready", 60)
    found = []
    for line in lines:
        shell.text = ""
        shell.type(line + "\t\x18")  # the shell reads ^X when the completion is done
        shell.wait_for(lambda text: "\n<" in text and ">" in text.rsplit("\n<", 1)[-1])
        found.append(shell.text.rsplit("\n<", 1)[-1].split(">")[0].rstrip())
    shell.end(signal.SIGKILL)
    return found


def in_fish(environment, folder, line):
    answer = subprocess.run(["fish", "--no-config", "-c", 'kubectl-dra completion fish | source; complete -C "$argv[1]"', line], env=environment, cwd=folder,
                            capture_output=True, text=True, timeout=60)
    return sorted(word.split("\t")[0] for word in answer.stdout.splitlines())


def in_bash(environment, folder, line):
    """COMPREPLY as set by bash's function; words are split as by bash."""
    words = [word for part in line.split(" ") for word in part.replace("=", " = ").split(" ") if word or "=" not in part]
    script = 'source <(kubectl-dra completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kubectl_dra 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"'
    answer = subprocess.run(["bash", "-c", script, "bash", *words], env=environment, cwd=folder, capture_output=True, text=True, timeout=60)
    return sorted(answer.stdout.split())


# The typed text, and its completions.
TYPED = [("kubectl-dra expl", ["explain"]), ("kubectl-dra explain pod/ho", ["pod/holds"]), ("kubectl-dra explain claim/hold", ["claim/holds-x"]),
         ("kubectl-dra who node-1/gpu-", ["node-1/gpu-0", "node-1/gpu-1"]), ("kubectl-dra whatif dra", ["drain"]),
         ("kubectl-dra whatif drain node-", ["node-0", "node-1"]), ("kubectl-dra explain pod/holds --node node-", ["node-0", "node-1"]),
         ("kubectl-dra top -n kube-sys", ["kube-system"]), ("kubectl-dra top --no-h", ["--no-headers"]), ("kubectl-dra fits -f mine", ["mine.yaml"])]


def completion(box, environment):
    with open(os.path.join(box.folder, "mine.yaml"), "w", encoding="utf-8"):
        pass
    claim = rest.Api(box.kubeconfig).items(CLAIMS)[0]["metadata"]["name"]
    for typed, expected in TYPED:
        expected = [claim if word == "claim/holds-x" else word for word in expected]
        expected = ["claim/" + word if word == claim else word for word in expected]
        files = typed.startswith("kubectl-dra fits")
        found = in_bash(environment, box.folder, typed)
        check(found == ([] if files else expected), f"bash completes {typed!r}", str(found))  # bash itself completes files
        if shutil.which("fish"):
            found = in_fish(environment, box.folder, typed)
            check(found == expected, f"fish completes {typed!r}", str(found))
    if shutil.which("zsh"):
        alone = [(typed, typed.rsplit(" ", 1)[0] + " " + expected[0]) for typed, expected in TYPED if len(expected) == 1 and "claim/" not in typed and " -f " not in typed]
        for (typed, expected), found in zip(alone, in_zsh(environment, [typed for typed, _ in alone])):
            check(found == expected, f"zsh completes {typed!r}", found)
    check(in_bash(environment, box.folder, "kubectl-dra top -o=j") == ["json"], "bash completes a value behind =")
    begun = time.monotonic()
    dead = subprocess.run(["kubectl-dra", "__complete", "explain", "-s", "http://192.0.2.1:6443", "pod/"], env=environment, capture_output=True, text=True, timeout=30)
    check(dead.stdout == ":4\n" and time.monotonic() - begun < 8, "a server that does not answer offers nothing, soon", f"{dead.stdout} {time.monotonic() - begun}")


def pages(environment):
    for columns in (40, 80):
        for words in (["top"], ["top", "classes"], ["top", "claims"], ["who", "node-0"], ["explain", "pod/holds"], ["explain", "pod/" + LONG], ["doctor"], ["--help"],
                      ["explain", "--help"], ["whatif", "drain", "node-0"], ["cel", "true"]):
            page = Terminal(["kubectl-dra", *words], environment, columns)
            page.end()
            lines = re.sub("\x1b\\[[0-9]*m", "", page.text).replace("\r\n", "\n").split("\n")
            long = [line for line in lines if len(line) > columns and " " in line.strip()]
            check(len(lines) > 2 and not long, f"kubectl dra {' '.join(words)} keeps to {columns} columns", "\n".join(long) or page.text)
    wide = subprocess.run(["kubectl-dra", "top", "claims"], env=environment, capture_output=True, text=True, timeout=30).stdout
    check(wide.count("\n") == 1 + 3 and LONG[:40] in wide, "a pipe gets one line a row", wide)
    check("\x1b" not in wide, "a pipe gets no colours", wide)


def watching(api, environment):
    with tempfile.TemporaryFile("w+") as errors:
        watched = subprocess.Popen(["kubectl-dra", "explain", "pod/" + LONG, "-w"], env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        os.set_blocking(watched.stdout.fileno(), False)
        text = ""

        def read_until(mark, seconds):
            nonlocal text
            end = time.monotonic() + seconds
            while mark not in text and time.monotonic() < end:
                if select.select([watched.stdout], [], [], 0.1)[0]:
                    text += " ".join((watched.stdout.read() or "").split()) + " "
            return mark in text

        check(read_until("Would fit if", 20), "-w prints the answer at once", text)
        # Ages grow, and an answer with equal content is not printed again: three rounds take at least 4 s.
        read_until("never", 7)
        check(text.count("has waited") == 1, "-w prints nothing while nothing changes but ages", text)
        api.request("DELETE", PODS + "/holds")
        check(read_until("is Running on", 30), "-w prints the answer when it changes", text)
        watched.send_signal(signal.SIGINT)
        errors.seek(0)
        check(watched.wait(10) == 0, "Ctrl-C ends -w with the status of the last answer, 0", errors.read())
        watched.stdout.close()
    screen = Terminal(["kubectl-dra", "top", "-w"], environment)
    check(screen.wait_for("TOTAL"), "top -w shows the table", screen.text)
    check("\x1b[H\x1b[2J" in screen.text, "a terminal is cleared before each answer", repr(screen.text))
    screen.type("\x03")
    status = screen.end()
    check(status == 0, "Ctrl-C at the terminal ends top -w with 0", f"{status} {screen.text}")
    # All namespaces, though the kubeconfig's context has one: the second round must not take it for -n.
    api.create("/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
    api.create(rest.RESOURCE + "/namespaces/elsewhere/resourceclaims", {"metadata": {"name": "far"}, "spec": rest.template("x", count=99)["spec"]["spec"]})
    for verb in (["top", "claims"], ["explain"]):
        everywhere = Terminal(["kubectl-dra", *verb, "-w"], environment)
        check(everywhere.wait_for("elsewhere"), f"{' '.join(verb)} -w shows all namespaces", everywhere.text)
        everywhere.type("\x03")
        everywhere.end()
    gone = subprocess.Popen(["kubectl-dra", "explain", "pod/" + LONG, "-w"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    gone.stdout.readline()
    api.request("DELETE", PODS + "/" + LONG)
    _, errors = gone.communicate(timeout=30)
    check(gone.returncode == 1 and errors.count("\n") == 1 and "is not known" in errors, "-w ends with 1 when what it watches is gone", f"{gone.returncode} {errors}")
    for words, said in ((["top", "-w", "--from", "x.dra"], "a snapshot does not change"), (["taint", "node-0", "k:NoSchedule", "-w"], "is done once"),
                        (["fits", "-f", "-", "-w"], "standard input"), (["snapshot", "x", "-w"], "is done once")):
        answer = subprocess.run(["kubectl-dra", *words], env=environment, capture_output=True, text=True, timeout=30)
        check(answer.returncode == 2 and said in answer.stderr and answer.stderr.count("\n") == 1, " ".join(words), f"{answer.returncode} {answer.stderr}")


NO_NAMES = ["", "/", "..", ".", "a/b/c", "ä", "a b", "%2e%2e", "x?y", "-", "a\nb", "pod/", "pod/..", "pod/../../nodes", "x" * 300, "\u202egnp", "\x1b[31m"]


def odd_names(environment):
    for name in NO_NAMES:
        for words in (["explain", name], ["who", name], ["whatif", "drain", name], ["whatif", "delete", name], ["whatif", "taint", name, "k:NoExecute"],
                      ["whatif", "scale", name, "3"], ["taint", name, "k:NoExecute", "--scheduler-gate-is-off"], ["explain", "pod/x", "-n", name]):
            answer = subprocess.run(["kubectl-dra", *words], env=environment, capture_output=True, text=True, timeout=30)
            line = answer.stderr.count("\n") == 1 and not answer.stdout and "\x1b" not in answer.stderr
            if answer.returncode != 2 or not line:
                check(False, f"{words} is refused with one line and status 2", f"{answer.returncode} {answer.stdout} {answer.stderr}")
    check(True, f"{len(NO_NAMES)} odd names were tried as eight kinds of objects")


def older_servers(programs):
    """The same objects behind servers with fewer and fewer versions."""
    data = tempfile.mkdtemp(prefix="dra-versions-")
    server = os.path.join(programs, "dra-sandbox")
    versions = ["v1", "v1beta2", "v1beta1"]
    seen = {}
    try:
        for left_out in range(len(versions) + 1):
            arguments = ["--data-dir", data]
            if left_out:
                arguments += ["--runtime-config", ",".join(f"resource.k8s.io/{version}=false" for version in versions[:left_out])]
            with sandbox.Sandbox(server, arguments, command="apiserver", ready_line="serving on") as box:
                environment = {**os.environ, "KUBECONFIG": box.kubeconfig, "HOME": box.folder, "PATH": programs + ":" + os.environ["PATH"]}
                if not left_out:
                    write_by_hand(rest.Api(box.kubeconfig))
                for words in (["top"], ["who", "node-0"], ["explain", "pod/waits"], ["cel", "true"], ["whatif", "drain", "node-0"], ["doctor"]):
                    answer = subprocess.run(["kubectl-dra", *words], env=environment, capture_output=True, text=True, timeout=30)
                    # Ages differ.
                    first = seen.setdefault(words[0], answer)
                    if left_out < len(versions) and words[0] != "doctor":
                        same = answer.returncode == first.returncode and [line for line in answer.stdout.splitlines() if "waited" not in line] == \
                            [line for line in first.stdout.splitlines() if "waited" not in line]
                        check(same and answer.returncode in (0, 1), f"{words[0]} without {', '.join(versions[:left_out]) or 'none'}",
                              f"{answer.returncode}\n{answer.stdout}{answer.stderr}\n{first.stdout}")
                    elif left_out == len(versions) and words[0] != "doctor":
                        check(answer.returncode == 3 and answer.stderr.count("\n") == 1 and not answer.stdout and "serves no version of resource.k8s.io" in answer.stderr,
                              f"{words[0]} without any version is one line and status 3", f"{answer.returncode} {answer.stdout} {answer.stderr}")
                    elif left_out:
                        check(answer.returncode == (1 if left_out == len(versions) else 0) and "resource.k8s.io" in answer.stdout,
                              f"doctor without {', '.join(versions[:left_out])} names what is served", f"{answer.returncode} {answer.stdout} {answer.stderr}")
    finally:
        shutil.rmtree(data, ignore_errors=True)


def write_by_hand(api):
    api.create("/api/v1/nodes", {"metadata": {"name": "node-0"}, "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"}}})
    api.create(rest.RESOURCE + "/deviceclasses", rest.device_class())
    devices = [{"name": "gpu-0", "attributes": {"model": {"string": "A"}}, "capacity": {"memory": {"value": "8Gi"}}}, {"name": "gpu-1"}]
    api.create(rest.RESOURCE + "/resourceslices", {"metadata": {"name": "slice"}, "spec": {"driver": "gpu.example.com", "nodeName": "node-0",
               "pool": {"name": "node-0", "generation": 1, "resourceSliceCount": 1}, "devices": devices}})
    api.create(CLAIMS, {"metadata": {"name": "waits"}, "spec": rest.template("x", count=9)["spec"]["spec"]})
    api.create(PODS, {"metadata": {"name": "waits"}, "spec": {"containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}],
               "resourceClaims": [{"name": "gpu", "resourceClaimName": "waits"}]}})


def fleet_file(folder):
    path = os.path.join(folder, "fleet.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write(rest.fleet(2, 2))
    return path


def main():
    programs = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, sandbox.Sandbox(os.path.join(programs, "dra-sandbox"), ["--fleet", fleet_file(folder)]) as box:
        api = rest.Api(box.kubeconfig)
        environment = {**os.environ, "KUBECONFIG": box.kubeconfig, "HOME": box.folder, "PATH": programs + ":" + os.environ["PATH"]}
        environment.pop("COLUMNS", None)
        api.create(TEMPLATES, rest.template("two", count=2))
        for i in range(2):
            api.create(PODS, rest.pod("holds" if i == 0 else f"other-{i}", "two"))
        box.wait_for(lambda: all(pod["status"].get("phase") == "Running" for pod in api.items(PODS)), 30, "the pods to run")
        api.request("DELETE", PODS + "/other-1")
        box.wait_for(lambda: len(api.items(CLAIMS)) == 1, 30, "the other claim to go")
        api.create(TEMPLATES, rest.template("four", count=2))
        completion(box, environment)
        odd_names(environment)
        api.create(PODS, rest.pod("blocks", "two"))
        box.wait_for(lambda: api.get(PODS + "/blocks")["status"].get("phase") == "Running", 30, "the devices to be held")
        api.create(PODS, rest.pod(LONG, "four"))
        box.wait_for(lambda: len(api.items(CLAIMS)) == 3, 30, "the claim of the pod that waits")
        pages(environment)
        watching(api, environment)
    older_servers(programs)
    absent = [shell for shell in ("zsh", "fish") if not shutil.which(shell)]
    if absent and not FAILURES:
        print(f"skipped: no {' and no '.join(absent)}; the rest passed")
        return 77
    print(f"{len(FAILURES)} failed")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
