"""A small git tree in a temporary folder: what the tests of scripts run over."""
import contextlib
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@contextlib.contextmanager
def small_tree(files, *copied):
    """The folder with these files ({name: text}) and copies of files of this project, all of them added to git."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        for name in copied:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
        subprocess.run(["git", "init", "-q", folder], check=True)
        subprocess.run(["git", "-C", folder, "add", *files], check=True)
        yield root


def run(*command, **options):
    """(exit status, all output)"""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout + done.stderr
