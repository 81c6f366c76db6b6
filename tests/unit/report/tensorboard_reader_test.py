#!/usr/bin/env python3
"""tensorboard_reader_test.py <tensorboard_files>: reads our event files with TensorBoard's own code.

Runs in the Python that TUNE_TEST_PYTHON names, if set. Exit status 77, which CTest shows as skipped,
where that has no package `tensorboard`.
"""

import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

wanted = os.environ.pop("TUNE_TEST_PYTHON", None)
if wanted:
    os.execvp(wanted, [wanted] + sys.argv)

try:
    from tensorboard.backend.event_processing import (
        data_provider, event_accumulator, event_file_loader, plugin_event_multiplexer)
    from tensorboard import context
    from tensorboard.plugins import base_plugin
    from tensorboard.plugins.hparams import (
        api_pb2, backend_context, list_session_groups, metadata, plugin_data_pb2)
except ImportError as error:
    print(f"skipped: {sys.executable} has no tensorboard: {error}")
    sys.exit(77)

PREFIX = "ray/tune/"
AUTOMATIC = {"done", "time_this_iter_s", "time_since_restore", "iterations_since_restore"}


class TensorboardReaderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = Path(cls.folder.name) / "experiment"
        subprocess.run([WRITER, str(cls.root)], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def accumulator(self, trial):
        accumulator = event_accumulator.EventAccumulator(str(self.root / trial))
        accumulator.Reload()
        return accumulator

    def scalars(self, trial, name):
        return [(event.step, event.value) for event in self.accumulator(trial).Scalars(PREFIX + name)]

    def test_every_record_is_whole(self):
        files = sorted(self.root.glob("*/events.out.tfevents.*"))
        self.assertEqual(4, len(files))  # one a trial, and one more for the one that went back
        for path in files:
            events = list(event_file_loader.EventFileLoader(str(path)).Load())
            self.assertEqual("brain.Event:2", events[0].file_version)
            self.assertGreaterEqual(len(events), 3)

    def test_scalars_and_their_steps(self):
        loss = self.scalars("00000", "loss")
        self.assertEqual([(1, 0.5), (2, math.inf)], loss[:2])
        self.assertEqual(3, loss[2][0])
        self.assertTrue(math.isnan(loss[2][1]))
        self.assertEqual([(1, 0), (2, 1)], self.scalars("00000", "converged"))
        self.assertEqual([(1, 1)], self.scalars("00000", "a/b"))
        self.assertEqual([(2, -math.inf)], self.scalars("00000", "huge"))
        self.assertEqual([(1, 0.5), (2, 0.5), (3, 0.5)], self.scalars("00000", "time_this_iter_s"))
        names = {tag[len(PREFIX):] for tag in self.accumulator("00000").Tags()["scalars"]}
        self.assertEqual({"loss", "converged", "a/b", "huge"} | AUTOMATIC, names)
        wall_time = self.accumulator("00000").Scalars(PREFIX + "loss")[0].wall_time
        self.assertEqual(1700000001.75, wall_time)

    def test_what_was_reported_again_is_there_once(self):
        self.assertEqual([(1, 1), (2, 2), (3, 30), (4, 40)], self.scalars("00001", "loss"))

    def hparams(self):
        multiplexer = plugin_event_multiplexer.EventMultiplexer()
        multiplexer.AddRunsFromDirectory(str(self.root))
        multiplexer.Reload()
        provider = data_provider.MultiplexerDataProvider(multiplexer, str(self.root))
        return backend_context.Context(base_plugin.TBContext(data_provider=provider))

    def test_hyperparameters_of_one_trial(self):
        content = self.hparams().hparams_metadata(context.RequestContext(), "id")["00000"]
        start = metadata.parse_session_start_info_plugin_data(content[metadata.SESSION_START_INFO_TAG])
        values = {name: (value.WhichOneof("kind"), getattr(value, value.WhichOneof("kind")))
                  for name, value in start.hparams.items()}
        self.assertEqual({
            "layers": ("number_value", 3),
            "nesterov": ("bool_value", True),
            "sizes": ("string_value", "[1,2]"),
            "none": ("string_value", "null"),
            "net": ("string_value", '{"depth":4}'),
            "net/depth": ("number_value", 4),
            "lr": ("number_value", 0.1),
            "optimizer": ("string_value", "sgd"),
        }, values)
        self.assertGreater(start.start_time_secs, 1.6e9)

    def test_the_hparams_page(self):
        handler = list_session_groups.Handler(
            context.RequestContext(), self.hparams(), "id",
            api_pb2.ListSessionGroupsRequest(
                allowed_statuses=[api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_SUCCESS,
                                  api_pb2.STATUS_FAILURE, api_pb2.STATUS_RUNNING],
                start_index=0, slice_size=10))
        groups = {group.name: group for group in handler.run().session_groups}
        self.assertEqual({"00000", "00001", "00002"}, set(groups))
        status = {name: group.sessions[0].status for name, group in groups.items()}
        self.assertEqual({"00000": api_pb2.STATUS_SUCCESS, "00001": api_pb2.STATUS_FAILURE,
                          "00002": api_pb2.STATUS_UNKNOWN}, status)
        # Parameters of other branches are there, too.
        self.assertAlmostEqual(0.9, groups["00001"].hparams["beta1"].number_value)
        metrics = {value.name.tag: (value.training_step, value.value)
                   for value in groups["00001"].metric_values}
        self.assertEqual((4, 40), metrics[PREFIX + "loss"])


if __name__ == "__main__":
    WRITER = sys.argv.pop(1)
    unittest.main(verbosity=2)
