"""What retention/ foretells, against what a broker then does: which segment, by which rule, when it is
renamed and when it is gone, over deletions by time, by size and by DeleteRecords."""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../mounted"))

import broker  # noqa: E402

OFFSETFS = os.path.abspath(os.environ.get("OFFSETFS", "../../build/offsetfs"))
SEGMENT_BYTES = 1 << 20
CHECK_MS = 2000
# A broker's thread may come late on a machine that does other work. Early it never comes.
LATE_MS = 15_000

BROKER_SETTINGS = {
    "log.retention.check.interval.ms": str(CHECK_MS),
    "log.initial.task.delay.ms": "1000",
    "replica.high.watermark.checkpoint.interval.ms": "300",
    "log.flush.start.offset.checkpoint.interval.ms": "300",
    "log.cleaner.backoff.ms": "1000",
}


def now_ms():
    return time.time_ns() // 1_000_000


class Watch(threading.Thread):
    """When each segment of a partition was renamed, and when its `.log` was gone: [before, after], the
    two looks between which it happened."""

    def __init__(self, directory):
        super().__init__(daemon=True)
        self.directory = directory
        self.renamed, self.gone = {}, {}
        self.ended = False
        self.start()

    def run(self):
        live, deleted, looked = set(), set(), now_ms()
        while not self.ended:
            names = os.listdir(self.directory)
            now = now_ms()
            is_live = {int(n[:20]) for n in names if n.endswith(".log")}
            is_deleted = {int(n[:20]) for n in names if n.endswith(".log.deleted")}
            for base in live - is_live:
                self.renamed[base] = (looked, now)
            for base in deleted - is_deleted:
                self.gone[base] = (looked, now)
            live, deleted, looked = is_live, is_deleted, now
            time.sleep(0.02)


class Foretold(threading.Thread):
    """What status.json says, again and again: of each segment the last that was said before it went."""

    def __init__(self, retention):
        super().__init__(daemon=True)
        self.retention = retention
        self.said = {}
        self.errors = []
        self.ended = False
        self.start()

    def run(self):
        while not self.ended:
            try:
                with open(os.path.join(self.retention, "status.json")) as text:
                    status = json.load(text)
            except (OSError, ValueError) as error:
                self.errors.append(repr(error))
                time.sleep(0.1)
                continue
            for row in status["segments"]:
                if row["state"] == "deleting":
                    continue
                self.said[row["base_offset"]] = {**row, "said_at": status["now"]}
            time.sleep(0.1)


class RetentionForetold(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="offsetfs-broker-")
        cls.mount_point = os.path.join(cls.root, "mnt")
        os.mkdir(cls.mount_point)
        cls.broker = broker.Broker(cls.root, BROKER_SETTINGS).start()
        cls.client = broker.Client(cls.broker.bootstrap)
        cls.mounted = None

    @classmethod
    def tearDownClass(cls):
        ended = 0
        if cls.mounted:
            cls.mounted.terminate()
            ended = cls.mounted.wait(60)
        cls.client.close()
        cls.broker.stop()
        shutil.rmtree(cls.root, ignore_errors=True)
        if ended != 0:
            raise RuntimeError(f"offsetfs ended with {ended}")

    def mount(self):
        cls = type(self)
        if cls.mounted is None:
            cls.mounted = subprocess.Popen([OFFSETFS, "--config", self.broker.config, self.mount_point, "-f"])
            deadline = time.monotonic() + 60
            while not os.path.ismount(self.mount_point):
                self.assertIsNone(cls.mounted.poll(), "offsetfs ended")
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)

    def follow(self, topic, *settings):
        """A new topic, watched on disk and through the mount."""
        self.client.ask("create", topic, f"segment.bytes={SEGMENT_BYTES}", "file.delete.delay.ms=2000", *settings)
        directory = os.path.join(self.broker.log_dir, topic + "-0")
        deadline = time.monotonic() + 60
        while not os.path.isdir(directory):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        self.mount()
        retention = os.path.join(self.mount_point, topic + "-0", "retention")
        while True:
            self.assertIsNone(type(self).mounted.poll(), "offsetfs ended")
            try:
                os.stat(retention)
                break
            except OSError as error:
                self.assertLess(time.monotonic(), deadline, error)
            time.sleep(0.05)
        watch, foretold = Watch(directory), Foretold(retention)

        def end():
            watch.ended = foretold.ended = True
            watch.join()
            foretold.join()

        self.addCleanup(end)
        return watch, foretold

    def wait_for(self, what, condition):
        deadline = time.monotonic() + 120
        while not condition():
            self.assertLess(time.monotonic(), deadline, "never happened: " + what)
            time.sleep(0.1)

    def compare(self, topic, watch, foretold, rule):
        """Every segment that went: by the rule that was foretold, not before the earliest moment, and
        not much after the latest."""
        self.wait_for("what was renamed is gone", lambda: set(watch.renamed) <= set(watch.gone))
        reasons = self.broker.deletion_reasons(topic + "-0")
        late, by_growth = [], 0
        for base, (_, renamed) in sorted(watch.renamed.items()):
            self.assertIn(base, foretold.said, foretold.errors[-3:])
            said = foretold.said[base]
            with self.subTest(topic=topic, base_offset=base):
                self.assertEqual(reasons.get(base), rule, "the broker's own word")
                if rule == "size" and said["due"] is None:
                    # It grew, and a check came before anybody looked again: then what was said is
                    # by how much it had to grow.
                    self.assertGreater(said["bytes_to_go"], 0)
                    self.assertLessEqual(said["bytes_to_go"], 2 * SEGMENT_BYTES)
                    by_growth += 1
                    continue
                self.assertEqual(said["rule"], rule, said)
                self.assertIsNotNone(said["due"], said)
                self.assertGreaterEqual(renamed, said["due"], "renamed before it was due")
                self.assertLessEqual(watch.renamed[base][0], said["latest_renamed"] + LATE_MS)
                gone = watch.gone[base][1]
                self.assertGreaterEqual(gone - renamed + 40, 2000 - (renamed - watch.renamed[base][0]),
                                        "gone before file.delete.delay.ms")
                self.assertLessEqual(watch.gone[base][0], said["latest_gone"] + LATE_MS)
                late.append(renamed - said["due"])
        print(f"{topic}: {len(late)} deletions by {rule} as foretold; renamed {min(late)} to {max(late)} ms "
              f"after they were due (a check every {CHECK_MS} ms); {by_growth} more by growth as foretold",
              flush=True)
        return len(late) + by_growth

    def test_by_time(self):
        watch, foretold = self.follow("by-time", "retention.ms=5000")
        for _ in range(12):
            self.client.ask("produce", "by-time", 1100, 1000)
            time.sleep(0.5)
        self.wait_for("ten deletions by time", lambda: len(watch.gone) >= 10)
        self.assertGreaterEqual(self.compare("by-time", watch, foretold, "time"), 10)

    def test_by_size(self):
        watch, foretold = self.follow("by-size", f"retention.bytes={2 * SEGMENT_BYTES}", "retention.ms=-1")
        for _ in range(12):
            self.client.ask("produce", "by-size", 1100, 1000)
            time.sleep(0.7)
        self.wait_for("eight deletions by size", lambda: len(watch.gone) >= 8)
        self.assertGreaterEqual(self.compare("by-size", watch, foretold, "size"), 8)
        time.sleep(2 * CHECK_MS / 1000)
        live = glob.glob(os.path.join(self.broker.log_dir, "by-size-0", "*.log"))
        kept = sum(os.path.getsize(path) for path in live)
        self.assertGreaterEqual(kept, 2 * SEGMENT_BYTES, "size retention never goes below its limit")

    def test_by_delete_records(self):
        watch, foretold = self.follow("by-start", "retention.ms=-1")
        end = 0
        for _ in range(8):
            end = int(self.client.ask("produce", "by-start", 1100, 1000))
        bases = sorted(int(os.path.basename(path)[:20])
                       for path in glob.glob(os.path.join(self.broker.log_dir, "by-start-0", "*.log")))
        self.assertGreaterEqual(len(bases), 7)
        # The first one finds out when the broker checks; the others are asked for right after a check,
        # so that there is time to foretell them before the next.
        for base in bases[1:6]:
            self.client.ask("delete-records", "by-start", base + 3)
            self.wait_for(f"the segment before {base} goes", lambda b=base: any(g < b for g in watch.renamed)
                          and max(watch.renamed) >= bases[bases.index(b) - 1])
        self.assertLess(bases[5], end)
        del watch.renamed[bases[0]]
        self.assertGreaterEqual(self.compare("by-start", watch, foretold, "log start"), 4)

    def test_one_future_timestamp_holds_back_all_behind_it(self):
        watch, foretold = self.follow("held", "retention.ms=1000", "message.timestamp.after.max.ms=9223372036854775807")
        self.client.ask("produce", "held", 1100, 1000, now_ms() + 86_400_000)
        for _ in range(3):
            self.client.ask("produce", "held", 1100, 1000)
        time.sleep(5)
        self.assertEqual(watch.renamed, {})
        rows = [foretold.said[base] for base in sorted(foretold.said)]
        self.assertEqual(rows[0]["held_by"], "future timestamp")
        self.assertEqual(rows[1]["held_by"], "behind an older segment")
        self.assertEqual(int(rows[1]["blocker"]), rows[0]["base_offset"])


if __name__ == "__main__":
    broker.main()
