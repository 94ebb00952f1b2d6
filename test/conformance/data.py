"""The folder of the test data with known answers; the same rule as test/support/conformance_data.h."""
import os

SAMPLE = os.path.join("test", "data", "conformance")


def folder():
    shared = os.path.join("..", "shared", "conformance")
    return os.environ.get("DRA_CONFORMANCE_DIR") or (shared if os.path.isdir(shared) else SAMPLE)


def is_whole():
    """False for the small copy."""
    return folder() != SAMPLE
