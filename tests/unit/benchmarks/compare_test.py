#!/usr/bin/env python3
"""compare_test.py <benchmarks/compare>: what that says of runs whose figures are known."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMPARE = sys.argv.pop(1)
HERE = {"cpu": "a", "cores": 2}
ELSEWHERE = {"cpu": "b", "cores": 64}


def case(name, unit, values, limits=(), machine=HERE, **parameters):
    return {"name": name, "parameters": parameters, "unit": unit, "values": list(values),
            "limits": list(limits), "machine": machine}


class CompareTest(unittest.TestCase):
    def compare(self, before, after, *options):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for name, cases in ("before", before), ("after", after):
                file = Path(folder) / name
                file.write_text("".join(json.dumps(one) + "\n" for one in cases))
                files.append(str(file))
            run = subprocess.run([sys.executable, COMPARE, *files, *options],
                                 capture_output=True, text=True)
        return run.returncode, run.stdout, run.stderr

    def verdicts(self, before, after, *options):
        code, out, _ = self.compare(before, after, *options)
        return code, [line.split()[0] for line in out.splitlines()[:-1]]

    def test_less_results_a_second_are_worse(self):
        code, out, _ = self.compare([case("x", "results/s", [100, 110, 120])],
                                    [case("x", "results/s", [50, 55, 60])])
        self.assertEqual(code, 1)
        self.assertTrue(out.startswith("worse"), out)
        self.assertIn("0.500", out)
        self.assertIn("1 cases compared, 1 worse", out)

    def test_less_time_is_better(self):
        self.assertEqual(self.verdicts([case("x", "us", [100, 110])], [case("x", "us", [50, 60])]),
                         (0, ["better"]))

    def test_within_the_spread_nothing_is_said(self):
        self.assertEqual(self.verdicts([case("x", "us", [100, 140])], [case("x", "us", [130, 150])]),
                         (0, ["same"]))

    def test_one_sample_has_no_spread(self):
        self.assertEqual(self.verdicts([case("x", "us", [100])], [case("x", "us", [900])]),
                         (0, ["one"]))

    def test_parameters_tell_cases_apart(self):
        before = [case("x", "us", [1, 2], trials=1), case("x", "us", [10, 20], trials=2)]
        after = [case("x", "us", [10, 20], trials=2), case("x", "us", [3, 4], trials=1)]
        self.assertEqual(self.verdicts(before, after), (1, ["worse", "same"]))

    def test_on_another_machine_the_ratios_to_the_limits_count(self):
        before = [case("x", "results/s", [100, 110], [1000, 1000]), case("y", "us", [1, 2])]
        after = [case("x", "results/s", [900, 950], [9000, 9000], ELSEWHERE),
                 case("y", "us", [8, 9], (), ELSEWHERE)]
        code, out, _ = self.compare(before, after)
        self.assertEqual(code, 0)
        self.assertIn("of the limit", out)
        self.assertIn("1 cases compared, 0 worse", out)  # nothing can be said of y

    def test_ratios_when_asked(self):
        before = [case("x", "results/s", [100, 110], [1000, 1000])]
        after = [case("x", "results/s", [50, 55], [500, 500])]
        self.assertEqual(self.verdicts(before, after), (1, ["worse"]))
        self.assertEqual(self.verdicts(before, after, "--ratios"), (0, ["same"]))

    def test_a_case_that_is_gone_is_named(self):
        code, out, _ = self.compare([case("x", "us", [1, 2]), case("gone", "us", [1, 2])],
                                    [case("x", "us", [1, 2])])
        self.assertEqual(code, 0)
        self.assertIn("gone", out)

    def test_nothing_in_common_is_an_error(self):
        code, _, error = self.compare([case("x", "us", [1, 2])], [case("y", "us", [1, 2])])
        self.assertEqual(code, 2)
        self.assertIn("no case is in both", error)

    def test_another_file_is_refused_with_its_line(self):
        code, _, error = self.compare([case("x", "us", [1])], [{"something": "else"}])
        self.assertEqual(code, 2)
        self.assertIn("after:1: no case of a benchmark", error)


if __name__ == "__main__":
    unittest.main()
