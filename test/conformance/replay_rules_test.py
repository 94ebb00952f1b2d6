#!/usr/bin/env python3
"""apiserver_replay_test.py fails when something that should be compared is missing: in the list, in the recordings, or in what was sent."""
import contextlib
import io
import unittest

import apiserver_replay_test as replay_test

NAMES = {"a": "", "b": "group/v1"}
WHOLE = {"a": {}, "b": {}, "c": {}}


class ReplayRules(unittest.TestCase):
    def test_list_and_recordings_agree(self):
        self.assertEqual(replay_test.disagreements(NAMES, {"c"}, WHOLE, whole=True), [])
        self.assertEqual(replay_test.disagreements(NAMES, {"c"}, {"b": {}}, whole=False), [], "a sample need not have them all")

    def test_each_disagreement_is_named(self):
        for left_out, recorded, whole, said in (
            ({"c"}, {"a": {}, "c": {}}, True, "b is listed and not recorded"),
            ({"c", "d"}, WHOLE, True, "d is listed and not recorded"),
            (set(), WHOLE, True, "c is recorded, and neither listed nor left out"),
            (set(), WHOLE, False, "c is recorded, and neither listed nor left out"),
            ({"c"}, {"c": {}}, False, "none of the listed sequences is recorded"),
            (set(), {}, False, "none of the listed sequences is recorded"),
        ):
            with self.subTest(said):
                self.assertEqual(replay_test.disagreements(NAMES, left_out, recorded, whole), [said])

    def test_every_request_must_be_compared(self):
        for output, steps, enough in (
            ("0 sequences skipped for lack of an API; 0 sequences with failures\n7 passed, 0 failed\n", 7, True),
            ("FAIL a / b\n0 sequences skipped for lack of an API; 1 sequences with failures\n6 passed, 1 failed\n", 7, True),  # fails by its own status
            ("0 sequences skipped for lack of an API; 0 sequences with failures\n6 passed, 0 failed\n", 7, False),
            ("0 sequences skipped for lack of an API; 0 sequences with failures\n0 passed, 0 failed\n", 0, False),
            ("1 sequences skipped for lack of an API; 0 sequences with failures\n7 passed, 0 failed\n", 7, False),
            ("", 7, False),
        ):
            with self.subTest(output=output, steps=steps), contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(replay_test.was_replayed(output, steps), enough)

    def test_the_list_names_what_is_left_out(self):
        names, left_out = replay_test.read_list(replay_test.LISTED)
        self.assertIn("agg-discovery", names)
        self.assertEqual(names["workload-crud"], "scheduling.k8s.io/v1alpha2")
        self.assertIn("podgroup-crud", left_out)
        self.assertFalse(left_out & names.keys())


if __name__ == "__main__":
    unittest.main()
