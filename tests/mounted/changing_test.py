"""Real tools beside a broker that writes: sizes, bytes and names are right at any moment, though the
kernel keeps what it was told."""

import mmap
import os
import pty
import queue
import select
import shutil
import subprocess
import threading
import time
import unittest

import kafka_batch
from mounted import CopyTest, EIO, ENOENT, error_of, output, read, run, wait_until


# Before Linux 6.6 what is read past the kernel's cache can be mapped privately only.
MAPPING = (mmap.MAP_SHARED if [int(n) for n in os.uname().release.split(".")[:2]] >= [6, 6]
           else mmap.MAP_PRIVATE)


class Broker:
    """Writes a partition directory as a broker does: whole batches, rolls, two-step deletions."""

    def __init__(self, folder):
        self.folder = folder
        self.next = 0
        self.values = []
        self.bases = []
        os.makedirs(folder, exist_ok=True)
        self.roll()

    def path(self, base, suffix=""):
        return f"{self.folder}/{base:020d}.log{suffix}"

    def roll(self):
        self.bases.append(self.next)
        self.log = os.open(self.path(self.next), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def append(self, *values):
        os.write(self.log, kafka_batch.batch(self.next, values))
        self.next += len(values)
        self.values += values

    def lines(self, base=0):
        return b"".join(value + b"\n" for value in self.values[base:])

    def delete_oldest(self):
        base = self.bases.pop(0)
        os.rename(self.path(base), self.path(base, ".deleted"))
        return base


class Lines:
    """What a command prints, line by line, without ever waiting for more than there is."""

    def __init__(self, test, *command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.text = b""
        test.addCleanup(self.process.stdout.close)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)

    def read_more(self, seconds=0.05):
        if select.select([self.process.stdout], [], [], seconds)[0]:
            self.text += os.read(self.process.stdout.fileno(), 1 << 16)

    def wait_for(self, text):
        def has_come():
            self.read_more()
            return text in self.text
        wait_until(has_come, text)


class LivingTest(CopyTest):
    options = ()

    def setUp(self):
        super().setUp()
        self.broker = Broker(f"{self.folder}/logs/orders-0")
        self.broker.append(b"first")
        self.mounted = self.mount(f"{self.folder}/logs/orders-0", options=self.options)
        self.active = self.mounted / "active/records.values"


class ToolsTest(LivingTest):
    def test_wc_pread_and_mmap_are_right_at_any_moment(self):
        with open(self.active, "rb") as held:
            for n in range(200):
                self.broker.append(b"value %d" % n, b"and another")
                truth = self.broker.lines()
                if n % 4 == 0:
                    self.assertEqual(int(output("wc", "-c", self.active).split()[0]), len(truth))
                elif n % 4 == 1:
                    self.assertEqual(os.pread(held.fileno(), 1 << 20, 0), truth)
                elif n % 4 == 2:
                    size = os.fstat(held.fileno()).st_size
                    self.assertEqual(size, len(truth))
                    with mmap.mmap(held.fileno(), size, MAPPING, mmap.PROT_READ) as mapped:
                        self.assertEqual(mapped[:], truth)
                else:
                    self.assertEqual(os.pread(held.fileno(), 100, len(truth) - 20), truth[-20:])

    def test_readers_beside_a_writer_meet_whole_lines_only(self):
        # The size of what is open is exact as long as less than 1 MiB of log was appended since it was
        # measured. So the writer takes turns of some 120 KiB: it is in one, and another waits.
        turns = queue.Queue(maxsize=1)

        def write():
            n = 0
            while turns.get():
                for _ in range(1000):
                    self.broker.append(b"%06d %s" % (n, b"x" * (n % 90)))
                    n += 1
        writer = threading.Thread(target=write)
        writer.start()
        longest = b""
        try:
            for _ in range(40):
                turns.put(True)
                at_least = len(self.broker.lines())
                with open(self.active, "rb") as file:  # its end runs away from who reads up to it
                    size = os.fstat(file.fileno()).st_size
                    seen = file.read(size)
                self.assertGreaterEqual(size, at_least)
                self.assertEqual(len(seen), size)
                self.assertTrue(seen.endswith(b"\n"))
                longest = max(longest, seen, key=len)
                size = os.stat(self.active).st_size
                self.assertGreaterEqual(size, len(seen))
        finally:
            turns.put(False)
            writer.join()
        self.assertTrue(self.broker.lines().startswith(longest))
        self.assertEqual(read(self.active), self.broker.lines())

    def test_the_size_of_what_grew_by_much_is_at_or_above_the_truth_until_it_is_read(self):
        with open(self.active, "rb") as file:
            for burst in range(3):
                for n in range(10):
                    self.broker.append(*[b"%d %d %d %s" % (burst, n, i, b"x" * 1000)
                                         for i in range(200)])
                truth = self.broker.lines()
                self.assertGreaterEqual(os.fstat(file.fileno()).st_size, len(truth))
                seen = os.pread(file.fileno(), 2 * len(truth), 0)
                self.assertEqual(seen, truth)
                self.assertEqual(os.fstat(file.fileno()).st_size, len(truth))
                self.assertEqual(os.stat(self.active).st_size, len(truth))

    def test_whoever_asks_for_the_size_makes_nobody_read_zeros(self):
        done = threading.Event()
        met = []

        def read_on():
            file = os.open(self.active, os.O_RDONLY)
            seen = []
            while not done.is_set():
                seen.append(os.read(file, 8192))
            os.close(file)
            met.append(b"".join(seen))

        def ask():
            while not done.is_set():
                os.stat(self.active)
                time.sleep(0.001)
        others = [threading.Thread(target=target) for target in [read_on] * 4 + [ask] * 2]
        for other in others:
            other.start()
        for n in range(1500):
            self.broker.append(*[b"batch %d value %d %s" % (n, i, b"x" * 30) for i in range(7)])
            time.sleep(0.001)
        done.set()
        for other in others:
            other.join()
        for seen in met:
            self.assertNotIn(b"\0", seen)
            self.assertTrue(self.broker.lines().startswith(seen))

    def test_tail_begins_with_the_last_lines_and_follows(self):
        self.broker.append(*[b"old %d" % n for n in range(10)])
        tail = Lines(self, "tail", "-s", "0.05", "-n5", "-f", self.active)
        tail.wait_for(b"old 9\n")
        for n in range(10):
            self.broker.append(b"new %d" % n)
        tail.wait_for(b"new 9\n")
        self.assertEqual(tail.text, self.broker.lines(6))

    def test_tail_by_name_passes_over_rolls_without_doubling_or_halving_a_line(self):
        tail = Lines(self, "tail", "-s", "0.05", "-n", "+1", "-F", self.active)
        tail.wait_for(b"first\n")
        for segment in range(3):
            for n in range(50):
                self.broker.append(b"segment %d line %d" % (segment, n))
                tail.read_more(0.002)
            last = b"the end of %d" % segment
            self.broker.append(last)
            # It takes several looks at an unchanged file before tail looks at the name.
            tail.wait_for(last + b"\n")
            self.broker.roll()
            self.broker.append(b"the beginning of %d" % (segment + 1))
            tail.wait_for(b"the beginning of %d\n" % (segment + 1))
        self.assertEqual(tail.text, self.broker.lines())

    def test_less_follows(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "vt100"
            os.execlp("less", "less", "+F", self.active)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.kill, pid, 9)
        self.addCleanup(os.close, terminal)
        seen = b""

        def shows(text):
            nonlocal seen
            if select.select([terminal], [], [], 0.05)[0]:
                seen += os.read(terminal, 1 << 16)
            return text in seen
        wait_until(lambda: shows(b"first"), "the first line")
        self.broker.append(b"what came later")
        wait_until(lambda: shows(b"what came later"), "the line appended")

    def test_links_follow_at_once(self):
        for n in range(20):
            if n % 5 == 4:
                self.broker.roll()
            self.broker.append(b"value %d" % n)
            self.assertEqual(self.mounted.link("last"), f"offsets/{self.broker.next - 1}")
            self.assertEqual(self.mounted.link("active"),
                             f"segments/{self.broker.bases[-1]:020d}")
            self.assertEqual(self.mounted.read("last"), b"value %d" % n)


class PollingToolsTest(ToolsTest):
    options = ("watch=poll",)


class NamesTest(LivingTest):
    """The kernel keeps names for a minute; what happens below them is told to it."""

    def setUp(self):
        super().setUp()
        self.broker.append(*[b"old %d" % n for n in range(99)])
        self.broker.roll()
        self.broker.append(*[b"new %d" % n for n in range(100)])

    def look_at_all(self):
        for segment in self.mounted.names("segments"):
            for name in self.mounted.names(f"segments/{segment}"):
                self.mounted.read(f"segments/{segment}/{name}")
        for offset in self.mounted.names("offsets"):
            self.mounted.stat(f"offsets/{offset}")

    def test_retention(self):
        self.look_at_all()
        first = "segments/00000000000000000000"
        with open(self.mounted / f"{first}/records.values", "rb") as held:
            begun = held.read(10)
            self.broker.delete_oldest()
            wait_until(lambda: error_of(os.stat, self.mounted / first) == ENOENT, "its end")
            wait_until(lambda: error_of(os.stat, self.mounted / "offsets/5") == ENOENT, "its end")
            self.assertEqual(self.mounted.error(f"{first}/records.values"), ENOENT)
            self.assertEqual(self.mounted.link("first"), "offsets/100")
            self.assertEqual(self.mounted.read("offsets/100"), b"new 0")
            shown = f"{first}.deleted/records.values"
            self.assertEqual(len(self.mounted.read(shown).splitlines()), 100)
            os.unlink(self.broker.path(0, ".deleted"))
            wait_until(lambda: error_of(os.stat, self.mounted / shown) == ENOENT, "its end")
            self.assertEqual(begun + held.read(), b"".join(
                value + b"\n" for value in self.broker.values[:100]))

    def test_a_segment_that_is_open_and_is_replaced_by_a_copy_of_itself(self):
        path = self.broker.path(0)
        stream = self.mounted / "segments/00000000000000000000/records.values"
        number = os.stat(stream).st_ino
        whole = b"".join(value + b"\n" for value in self.broker.values[:100])
        with open(stream, "rb") as held:
            self.assertEqual(os.pread(held.fileno(), 10, 0), whole[:10])
            shutil.copy2(path, path + ".copy")
            os.rename(path + ".copy", path)
            wait_until(lambda: os.stat(stream).st_ino != number, "another file")
            self.assertEqual(os.pread(held.fileno(), 4096, 0), whole)
            self.assertEqual(os.pread(held.fileno(), 10, len(whole) - 10), whole[-10:])
            self.assertEqual(os.pread(held.fileno(), 10, len(whole)), b"")

    def delete(self, count):
        for _ in range(count):
            os.unlink(self.broker.path(self.broker.delete_oldest(), ".deleted"))

    def test_retention_beside_readers_of_the_whole_partition(self):
        for n in range(8):
            self.broker.roll()
            self.broker.append(*[b"%d of %d" % (i, n) for i in range(100)])
        whole = self.broker.lines()
        with open(self.mounted / "records.values", "rb", buffering=0) as held:
            text = held.read(10)
            self.delete(7)
            wait_until(lambda: self.mounted.link("first") == "offsets/700", "the log's new start")
            while chunk := held.read(500):
                text += chunk
        self.assertEqual(text, whole)

    def test_a_reader_of_the_whole_partition_that_retention_has_passed(self):
        for n in range(40):
            self.broker.roll()
            self.broker.append(*[b"%d of %d" % (i, n) for i in range(100)])
        whole = self.broker.lines()
        with open(self.mounted / "records.values", "rb", buffering=0) as held:
            text = held.read(10)
            self.delete(38)
            wait_until(lambda: self.mounted.link("first") == "offsets/3800", "the log's new start")
            with self.assertRaises(OSError) as failed:
                while chunk := held.read(500):
                    text += chunk
        self.assertEqual(failed.exception.errno, EIO)
        self.assertTrue(whole.startswith(text))
        gone = (text.count(b"\n") + 99) // 100 * 100
        self.assertGreaterEqual(gone, 1700)
        lines = [line for line in self.mounted.log().splitlines() if "was taken away" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(f"{gone:020d} with the offsets {gone} to {gone + 99}", lines[0])

    def test_who_may_read_a_record(self):
        path = self.broker.path(0)
        os.chmod(path, 0o644)
        wait_until(lambda: self.mounted.stat("offsets/5").st_mode & 0o777 == 0o444, "0444")
        self.look_at_all()
        os.chmod(path, 0o600)
        wait_until(lambda: self.mounted.stat("offsets/5").st_mode & 0o777 == 0o400, "0400")
        wait_until(lambda: self.mounted.stat("segments/00000000000000000000/records.values").st_mode
                   & 0o777 == 0o400, "0400")

    def test_compaction_replaces_a_segment_by_another_of_its_name(self):
        self.look_at_all()
        path = self.mounted / "segments/00000000000000000000/records.values"
        old = read(path)
        with open(path, "rb") as held:
            self.assertEqual(held.read(20), old[:20])
            cleaned = self.broker.path(0, ".cleaned")
            with open(cleaned, "wb") as log:
                log.write(kafka_batch.batch(7, [b"what compaction left"]))
            os.rename(cleaned, self.broker.path(0, ".swap"))
            os.rename(self.broker.path(0), self.broker.path(0, ".deleted"))
            os.rename(self.broker.path(0, ".swap"), self.broker.path(0))
            new = b"what compaction left\n"
            wait_until(lambda: read(path) == new, "the new segment")
            for _ in range(3):
                # The two don't share a cache: each has its own bytes and its own size.
                self.assertEqual(os.pread(held.fileno(), 1 << 20, 0), old)
                self.assertEqual(os.fstat(held.fileno()).st_size, len(old))
                self.assertEqual(read(path), new)
                self.assertEqual(os.stat(path).st_size, len(new))
        self.assertEqual(self.mounted.read("offsets/7"), b"what compaction left")
        wait_until(lambda: error_of(os.stat, self.mounted / "offsets/5") == ENOENT, "its end")
        self.assertEqual(self.mounted.read("offsets/100"), b"new 0")

    def test_lookups_in_the_midst_of_compaction_find_the_segment(self):
        done = threading.Event()

        def compact():
            while not done.is_set():
                with open(self.broker.path(0, ".cleaned"), "wb") as log:
                    log.write(kafka_batch.batch(0, [b"old again"]))
                os.rename(self.broker.path(0, ".cleaned"), self.broker.path(0, ".swap"))
                os.rename(self.broker.path(0), self.broker.path(0, ".deleted"))
                os.rename(self.broker.path(0, ".swap"), self.broker.path(0))
                os.unlink(self.broker.path(0, ".deleted"))
                time.sleep(0.02)
        compaction = threading.Thread(target=compact)
        compaction.start()
        try:
            for _ in range(300):
                self.assertIn(self.mounted.read("segments/00000000000000000000/records.values")
                              .splitlines()[0], (b"first", b"old again"))
        finally:
            done.set()
            compaction.join()

    def test_what_is_written_after_a_truncation_is_never_mixed_with_what_was_there(self):
        self.look_at_all()
        size = os.path.getsize(self.broker.path(100))
        for n in range(10):
            # As a follower does that was ahead of a new leader: same length, other records.
            batch = kafka_batch.batch(200, [b"one of term %d" % n], leader_epoch=n)
            with open(self.broker.path(100), "r+b") as log:
                log.truncate(size)
                log.seek(size)
                log.write(batch)
            self.assertEqual(self.mounted.read("offsets/200"), b"one of term %d" % n)
            self.assertTrue(read(self.active).endswith(b"new 99\none of term %d\n" % n))
            with open(self.broker.path(100), "r+b") as log:
                log.truncate(size)
            self.assertEqual(self.mounted.error("offsets/200"), ENOENT)
            self.assertTrue(read(self.active).endswith(b"new 99\n"))

    def test_a_truncation_into_a_sealed_segment(self):
        self.look_at_all()
        os.rename(self.broker.path(100), self.broker.path(100, ".deleted"))
        with open(self.broker.path(0), "r+b") as log:
            whole = log.read()
            first = len(kafka_batch.batch(0, [b"first"]))
            log.truncate(first)
            log.seek(first)
            log.write(kafka_batch.batch(1, [b"written anew"]))
        self.assertGreater(len(whole), first)
        wait_until(lambda: self.mounted.link("active") == "segments/00000000000000000000", "it")
        self.assertEqual(read(self.active), b"first\nwritten anew\n")
        wait_until(lambda: self.mounted.read("offsets/1") == b"written anew", "the new record")
        self.assertEqual(self.mounted.error("offsets/2"), ENOENT)
        wait_until(lambda: error_of(os.stat, self.mounted / "offsets/100") == ENOENT, "its end")


class PartitionNamesTest(CopyTest):
    def test_a_topic_that_is_deleted_and_created_anew(self):
        source = f"{self.folder}/logs"
        Broker(f"{source}/other-0").append(b"other")
        for n in range(5):
            broker = Broker(f"{source}/orders-0")
            broker.append(b"incarnation %d" % n)
            if n == 0:
                mounted = self.mount(source)
            wait_until(lambda n=n: mounted.error("orders-0/offsets/0") == 0 and
                       mounted.read("orders-0/offsets/0") == b"incarnation %d" % n, "the new topic")
            self.assertEqual(mounted.read("orders-0/records.values"), b"incarnation %d\n" % n)
            gone = f"orders-0.{n:032x}-delete"
            os.rename(f"{source}/orders-0", f"{source}/{gone}")
            wait_until(lambda: error_of(os.stat, mounted / "orders-0") == ENOENT, "its end")
            self.assertEqual(mounted.read(f"{gone}/offsets/0"), b"incarnation %d" % n)
            run("rm", "-r", f"{source}/{gone}")
            wait_until(lambda: error_of(os.stat, mounted / gone) == ENOENT, "its end")
        self.assertEqual(mounted.read("other-0/offsets/0"), b"other")


class UntilHighWatermarkTest(CopyTest):
    def checkpoint(self, offset):
        path = f"{self.folder}/logs/replication-offset-checkpoint"
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            file.write(f"0\n1\norders 0 {offset}\n")
        os.rename(path + ".tmp", path)

    def test_what_lies_above_is_not_there_until_the_high_watermark_moves(self):
        broker = Broker(f"{self.folder}/logs/orders-0")
        broker.append(b"zero", b"one", b"two")
        broker.append(b"three", b"four")
        broker.roll()
        broker.append(b"five")
        self.checkpoint(4)
        plain = self.mount(f"{self.folder}/logs")
        self.assertEqual(plain.link("orders-0/last"), "offsets/5")
        mount = self.mount(f"{self.folder}/logs", options=["until=high_watermark"])
        self.assertEqual(sorted(mount.names("orders-0/offsets")), ["0", "1", "2", "3"])
        self.assertEqual(mount.link("orders-0/last"), "offsets/3")
        self.assertEqual(mount.error("orders-0/offsets/4"), ENOENT)
        self.assertEqual(mount.error("orders-0/offsets/5"), ENOENT)
        self.assertEqual(mount.lookup("orders-0/offsets/4.lookup")["result"],
                         "above_high_watermark")
        self.assertEqual(mount.lookup("orders-0/offsets/6.lookup")["result"], "past_log_end")
        self.assertEqual(error_of(os.readlink, mount / "orders-0/seek/4"), ENOENT)
        self.assertEqual(mount.read("orders-0/records.values"), b"zero\none\ntwo\nthree\n")
        self.assertEqual(mount.read("orders-0/offsets/2..last.values"), b"two\nthree\n")
        self.assertEqual(mount.text("orders-0/state/records"), "4\n")
        self.assertEqual(mount.text("orders-0/state/log_end_offset"), "6\n")
        self.checkpoint(6)
        wait_until(lambda: mount.error("orders-0/offsets/5") == 0, "the high watermark")
        self.assertEqual(mount.link("orders-0/last"), "offsets/5")
        self.assertEqual(mount.read("orders-0/records.values"), broker.lines())


if __name__ == "__main__":
    unittest.main()
