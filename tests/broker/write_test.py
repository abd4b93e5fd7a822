"""Logs that we wrote, shown to a broker: it serves exactly what was appended, however it came by them; and
the same history written by it and by us gives the same files."""

import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

import broker

OFFSETFS = os.path.abspath(os.environ.get("OFFSETFS", "../../build/offsetfs"))
LOG_TOOL = os.path.abspath(os.environ.get("LOG_TOOL", "../../build/tests/log_tool"))
SEGMENT_BYTES = 1 << 20
OLD = 1_700_000_000_000  # the records' times: a broker with its default retention deletes them at once

# Topic -> what log_tool is told. Each is several segments.
LOGS = {
    "none": ["codec=none", "records=9000"],
    "gzip": ["codec=gzip", "records=12000"],
    "snappy": ["codec=snappy", "records=12000"],
    "lz4": ["codec=lz4", "records=12000"],
    "zstd": ["codec=zstd", "records=12000"],
    "mixed": ["codec=mixed", "records=12000", "kind=idempotent"],
    "append-time": ["codec=none", "records=9000", f"append_time={OLD + 5}"],
    "transactions": ["codec=lz4", "records=12000", "kind=transactions"],
}
SETTINGS = [f"segment.bytes={SEGMENT_BYTES}", "retention.ms=-1"]
INDEXES = (".index", ".timeindex")
SEGMENT_FILES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def create(log_dir, topic, *more, settings=SETTINGS):
    return run(OFFSETFS, "create", log_dir, "--topic", topic, "-o", ",".join(settings), *more)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def snapshot_entries(data):
    """The producers of a snapshot: a broker writes them in the order of its hash table."""
    return data[:2], sorted(data[at:at + 46] for at in range(10, len(data), 46))


def segment_files(partition_dir):
    files = {name: content(os.path.join(partition_dir, name)) for name in sorted(os.listdir(partition_dir))
             if name.endswith(SEGMENT_FILES)}
    return {name: snapshot_entries(data) if name.endswith(".snapshot") else data for name, data in files.items()}


class Written:
    """A log that log_tool made, and what a consumer should get of it."""

    def __init__(self, folder, log_dir, topic, *more, first_time=OLD):
        self.topic = topic
        expected = os.path.join(folder, topic + ".expected")
        self.end = int(run(LOG_TOOL, "generate", log_dir, topic, "0", expected, f"first_time={first_time}",
                           f"segment.bytes={SEGMENT_BYTES}", *more))
        with open(expected) as text:
            lines = text.read().splitlines()
        self.committed = [line for line in lines if not line.startswith("!")]
        self.all = [line.lstrip("!") for line in lines]
        self.partition_dir = os.path.join(log_dir, topic + "-0")

    def times(self):
        """Some times, and the offset of the first record that is not before each: markers match too, so
        only of logs without."""
        records = [(int(t), int(o)) for o, t, *_ in (line.split("\t") for line in self.all)]
        asked = sorted({t + d for t, _ in records[::len(records) // 12] for d in (-1, 0, 1)})
        asked += [0, max(t for t, _ in records) + 1]
        return {t: next((o for at, o in records if at >= t), -1) for t in asked}


class WriteTest(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="offsetfs-broker-")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.log_dir = os.path.join(self.root, "logs")

    def start(self, node):
        node.start()
        self.addCleanup(node.stop, kill=True)
        client = broker.Client(node.bootstrap)
        self.addCleanup(client.close)
        return client

    def write(self, log_dir, *more):
        return [Written(self.root, log_dir, topic, *how, *more) for topic, how in LOGS.items()]

    def check_same(self, ours, theirs):
        self.assertEqual(sorted(ours), sorted(theirs))
        for name, data in ours.items():
            if len(data) < 1000:
                self.assertEqual(data, theirs[name], name)
            self.assertEqual(len(data), len(theirs[name]), name)
            self.assertTrue(data == theirs[name], f"{name} differs")

    def check_dumps(self, client, logs):
        """kafka-dump-log has nothing to say against a file of ours."""
        for log in logs:
            files = [os.path.join(log.partition_dir, name) for name in sorted(os.listdir(log.partition_dir))]
            with self.subTest(topic=log.topic):
                self.assertGreater(sum(name.endswith(".log") for name in files), 2)
                everything = [name for name in files if name.endswith(SEGMENT_FILES)]
                said = client.ask("dump", ",".join(everything), "--deep-iteration")
                # It says this of its own logs too, of every segment but the first.
                said = re.sub(r"Non-consecutive offsets in \S*/0*(\d+)\.log +-1 is followed by \1( |$)", "", said)
                self.assertEqual(said, "")
                indexes = ",".join(name for name in files if name.endswith(INDEXES))
                self.assertEqual(client.ask("dump", indexes, "--verify-index-only"), "")
                self.assertEqual(client.ask("dump", indexes, "--index-sanity-check"), "")

    def check_served(self, client, log):
        with self.subTest(topic=log.topic):
            self.assertEqual(client.ask("ends", log.topic), f"0 {log.end}")
            served = os.path.join(self.root, "served")
            for isolation, expected in (("read_uncommitted", log.all), ("read_committed", log.committed)):
                client.ask("consume", log.topic, isolation, served)
                with open(served) as text:
                    self.assertEqual(text.read().splitlines(), expected, isolation)
            if log.topic != "transactions":
                times = log.times()
                answers = client.ask("times", log.topic, *times).split()
                self.assertEqual(dict(zip(times, map(int, answers))), times)

    def check_appends_behind(self, client, log):
        self.assertEqual(client.ask("produce", log.topic, 5, 10), str(log.end + 5))

    def make_node(self):
        for topic in LOGS:
            create(self.log_dir, topic, "--broker")
        return broker.Broker(self.root, {"log.initial.task.delay.ms": "1000"}, made=True)


class OwnNode(WriteTest):
    """A broker that is started on a directory where none ever ran."""

    def test_with_the_clean_mark_it_takes_our_files_as_they_are(self):
        node = self.make_node()
        logs = self.write(self.log_dir)
        self.assertTrue(os.path.exists(os.path.join(self.log_dir, ".kafka_cleanshutdown")))
        ours = {log.topic: segment_files(log.partition_dir) for log in logs}
        client = self.start(node)
        for log in logs:
            self.check_served(client, log)
        node.stop()
        for log in logs:
            with self.subTest(topic=log.topic):
                self.check_same(ours[log.topic], segment_files(log.partition_dir))
        client = self.start(node)
        for log in logs:
            self.check_appends_behind(client, log)

    def test_by_the_commands_alone(self):
        codecs = ("none", "gzip", "snappy", "lz4", "zstd")
        values = [f"{i} " + "v" * (i % 700) for i in range(5000)]
        lines = "".join(json.dumps({"key": f"k{i % 9}", "payload": value, "ts": OLD + i,
                                    "headers": ["h", str(i)]}) + "\n" for i, value in enumerate(values))
        for codec in codecs:
            partition = create(self.log_dir, codec, "--broker")
            subprocess.run([OFFSETFS, "append", "--jsonl", "--compression", codec, partition], input=lines,
                           text=True, check=True, stdout=subprocess.DEVNULL)
        self.assertTrue(os.path.exists(os.path.join(self.log_dir, ".kafka_cleanshutdown")))
        client = self.start(broker.Broker(self.root, {}, made=True))
        served = os.path.join(self.root, "served")
        for codec in codecs:
            with self.subTest(codec=codec):
                client.ask("consume", codec, "read_committed", served)
                with open(served) as text:
                    self.assertEqual(text.read().splitlines(), [
                        f"{i}\t{OLD + i}\t{f'k{i % 9}'.encode().hex()}\t{value.encode().hex()}\t"
                        f"h={str(i).encode().hex()}" for i, value in enumerate(values)])
                self.assertEqual(client.ask("times", codec, OLD - 1, OLD + 2500, OLD + 5000), "0 2500 -1")
        # The broker has it, and then it is the broker's.
        refused = subprocess.run([OFFSETFS, "append", partition], input="late\n", text=True, check=False,
                                 stderr=subprocess.PIPE)
        self.assertEqual(refused.returncode, 2)
        self.assertEqual(refused.stderr.count("\n"), 1)

    def test_after_a_crash_it_recovers_what_we_would_have_left_cleanly(self):
        twin_dir = os.path.join(self.root, "twin")
        for topic in LOGS:
            create(twin_dir, topic)
        twins = self.write(twin_dir)
        node = self.make_node()
        logs = self.write(self.log_dir, "end=crash")
        self.assertFalse(os.path.exists(os.path.join(self.log_dir, ".kafka_cleanshutdown")))
        for log in logs:  # half a batch at the end
            active = max(name for name in os.listdir(log.partition_dir) if name.endswith(".log"))
            with open(os.path.join(log.partition_dir, active), "ab") as file:
                file.write(content(os.path.join(log.partition_dir, "0" * 20 + ".log"))[:100])
        client = self.start(node)
        for log in logs:
            self.check_served(client, log)
        node.stop()
        for log, twin in zip(logs, twins):
            with self.subTest(topic=log.topic):
                self.check_same(segment_files(twin.partition_dir), segment_files(log.partition_dir))


class ExistingCluster(WriteTest):
    """A partition of ours put in the place of one that a broker has."""

    def test_with_and_without_the_clean_mark(self):
        ours_dir = os.path.join(self.root, "ours")
        for topic in LOGS:
            create(ours_dir, topic)
        logs = self.write(ours_dir)
        node = broker.Broker(self.root, {"log.initial.task.delay.ms": "1000"})
        client = self.start(node)
        for log in logs:
            client.ask("create", log.topic, *SETTINGS)
        self.check_dumps(client, logs)
        node.stop()
        for mark in (True, False):
            for log in logs:
                self.put(log)
            if not mark:
                os.unlink(os.path.join(self.log_dir, ".kafka_cleanshutdown"))
            client = self.start(node)
            for log in logs:
                self.check_served(client, log)
                self.check_appends_behind(client, log)
            node.stop()

    def put(self, log):
        place = os.path.join(self.log_dir, log.topic + "-0")
        for name in os.listdir(place):
            if name != "partition.metadata":
                os.unlink(os.path.join(place, name))
        for name in os.listdir(log.partition_dir):
            if name != "partition.metadata":
                shutil.copy2(os.path.join(log.partition_dir, name), place)


class SameHistory(WriteTest):
    """What a broker wrote, and the same batches appended by us: the same names, the same bytes."""

    # Topic -> settings, and what is produced: count, bytes, times.
    HISTORIES = {
        "by-size": ([f"segment.bytes={SEGMENT_BYTES}"], [(4000, 1024, None)]),
        "by-time": (["segment.ms=5000"], [(20, 100, 0), (20, 100, 5000), (20, 100, 5001)]),
        "dense": ([f"segment.bytes={SEGMENT_BYTES}", "index.interval.bytes=0"], [(3000, 300, None)]),
        "small-index": (["segment.index.bytes=120", "index.interval.bytes=1000"], [(3000, 300, None)]),
        "preallocated": ([f"segment.bytes={SEGMENT_BYTES}", "preallocate=true"], [(3000, 1024, None)]),
        "out-of-order": ([f"segment.bytes={SEGMENT_BYTES}"],
                         [(300, 1024, t) for t in (5000, 1000, 9000, 9000, 3000, 12000, 2000)]),
    }

    def test_gives_the_same_files_live_and_closed(self):
        node = broker.Broker(self.root, {})
        client = self.start(node)
        # Forgotten by no default retention: it is not what is tested here.
        for topic, (settings, produced) in self.HISTORIES.items():
            client.ask("create", topic, "retention.ms=-1", *settings)
            for count, size, time in produced:
                client.ask("produce", topic, count, size, *([] if time is None else [OLD + time]))
        live = self.compare(os.path.join(self.root, "live"), "end=crash")
        node.stop()
        closed = self.compare(os.path.join(self.root, "closed"), "end=clean")
        for bases in (live, closed):
            self.assertEqual(bases["by-time"], [0, 40])
            self.assertGreaterEqual(len(bases["by-size"]), 4)
            self.assertGreaterEqual(len(bases["small-index"]), 4)

    def compare(self, ours_dir, end):
        bases = {}
        for topic, (settings, _) in self.HISTORIES.items():
            theirs_dir = os.path.join(self.log_dir, topic + "-0")
            create(ours_dir, topic, settings=settings)
            run(LOG_TOOL, "replay", theirs_dir, ours_dir, topic, "0", end, *settings)
            theirs = segment_files(theirs_dir)
            with self.subTest(topic=topic, end=end):
                self.check_same(segment_files(os.path.join(ours_dir, topic + "-0")), theirs)
                epochs = "leader-epoch-checkpoint"
                self.assertEqual(content(os.path.join(ours_dir, topic + "-0", epochs)),
                                 content(os.path.join(theirs_dir, epochs)))
            bases[topic] = [int(name[:20]) for name in theirs if name.endswith(".log")]
        return bases

    def test_too_small_segments_are_refused_in_the_same_words(self):
        node = broker.Broker(self.root, {})
        client = self.start(node)
        with self.assertRaises(RuntimeError) as refused:
            client.ask("create", "small", "segment.bytes=1048575")
        ours = subprocess.run([OFFSETFS, "create", os.path.join(self.root, "ours"), "--topic", "small", "-o",
                               "segment.bytes=1048575"], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(ours.returncode, 1)
        words = "Invalid value 1048575 for configuration segment.bytes: Value must be at least 1048576"
        self.assertIn(words, str(refused.exception))
        self.assertIn(words, ours.stderr)


class Compaction(WriteTest):
    """The same logs, compacted by a broker's cleaner and by us: the same bytes. And a broker serves what
    we compacted."""

    # Uncompressed: what a codec makes of the same records is its own affair.
    LOGS = {
        "plain": ["records=9000", "key_space=700"],
        "idempotent": ["records=9000", "key_space=700", "kind=idempotent"],
        "transactions": ["records=9000", "key_space=700", "kind=transactions"],
    }
    SETTINGS = [*SETTINGS, "cleanup.policy=compact", "min.cleanable.dirty.ratio=0.001",
                "file.delete.delay.ms=0", "index.interval.bytes=512"]

    def test_gives_the_files_of_a_brokers_cleaner(self):
        now = time.time_ns() // 1_000_000  # a broker forgets producers that are a day old
        ours_dir = os.path.join(self.root, "ours")
        logs = {}
        for topic, how in self.LOGS.items():
            for log_dir, more in ((self.log_dir, ["--broker"]), (ours_dir, [])):
                create(log_dir, topic, *more, settings=self.SETTINGS)
                logs[log_dir, topic] = Written(self.root, log_dir, topic, *how, "index.interval.bytes=512",
                                               first_time=now - 3_600_000)
        node = broker.Broker(self.root, {"log.cleaner.backoff.ms": "500", "log.initial.task.delay.ms": "500"},
                             made=True)
        client = self.start(node)
        checkpoint = os.path.join(self.log_dir, "cleaner-offset-checkpoint")
        self.wait_for("all are cleaned", lambda: os.path.exists(checkpoint)
                      and all(f"{topic} 0 " in content(checkpoint).decode() for topic in self.LOGS))
        for topic in self.LOGS:
            with self.subTest(topic=topic):
                theirs = self.sealed_files(logs[self.log_dir, topic])
                self.assertTrue(any(name.endswith(".log") and data for name, data in theirs.items()))
                passed = self.time_of_pass(theirs)
                self.assertIsNotNone(passed, "no tombstone was left")
                run(LOG_TOOL, "compact", ours_dir, topic, "0", f"now={passed}", *self.SETTINGS)
                self.check_same(self.sealed_files(logs[ours_dir, topic]), theirs)
        node.stop()

        # Back to a broker: what it serves is what is left, key by key the latest.
        for topic in self.LOGS:
            ours, place = logs[ours_dir, topic].partition_dir, logs[self.log_dir, topic].partition_dir
            for name in os.listdir(place):
                if name not in ("partition.metadata", "leader-epoch-checkpoint"):
                    os.unlink(os.path.join(place, name))
            for name in os.listdir(ours):
                if name not in ("partition.metadata", "leader-epoch-checkpoint"):
                    shutil.copy2(os.path.join(ours, name), place)
        os.unlink(os.path.join(self.log_dir, ".kafka_cleanshutdown"))
        client = self.start(node)
        for topic in self.LOGS:
            with self.subTest(topic=topic):
                log = logs[ours_dir, topic]
                served = os.path.join(self.root, "served")
                client.ask("consume", topic, "read_committed", served)
                with open(served) as text:
                    left = text.read().splitlines()
                self.assertTrue(set(left) <= set(log.committed))
                self.assertEqual(self.latest(left), self.latest(log.committed))
                self.assertLess(len(left), len(log.committed))
                self.assertEqual(client.ask("ends", topic).split()[1], str(log.end))

    @staticmethod
    def latest(lines):
        """Key -> what a reader who keeps the last value of each ends up with."""
        state = {}
        for line in lines:
            _, _, key, value, headers = line.split("\t")
            state[key] = (value, headers)
        return {key: value for key, value in state.items() if value[0] != "-"}

    @staticmethod
    def sealed_files(log):
        """Without the active segment, and without snapshots: a broker takes another one at its start."""
        active = max(name for name in os.listdir(log.partition_dir) if name.endswith(".log"))[:20]
        return {name: data for name, data in segment_files(log.partition_dir).items()
                if name[:20] < active and not name.endswith(".snapshot")}

    @staticmethod
    def time_of_pass(files):
        """When the cleaner ran: a tombstone's batch has its horizon, a day later."""
        for name, data in files.items():
            at = 0
            while name.endswith(".log") and at < len(data):
                size, = struct.unpack_from(">i", data, at + 8)
                attributes, _, base_timestamp = struct.unpack_from(">hiq", data, at + 21)
                if attributes & 0x40:
                    return base_timestamp - 86_400_000
                at += 12 + size
        return None

    def wait_for(self, what, condition):
        deadline = time.monotonic() + broker.PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, "never happened: " + what)
            time.sleep(0.1)


if __name__ == "__main__":
    broker.main()
