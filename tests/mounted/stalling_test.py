"""A source that stops answering: a FUSE file system below the mount, whose process is stopped."""

import os
import signal
import subprocess
import threading
import time
import unittest

import kafka_batch
from mounted import BINARY, CopyTest, EIO, PATIENCE, error_of, is_mounted, output, wait_until

PASSTHROUGH = os.path.abspath(os.environ.get("OFFSETFS_PASSTHROUGH",
                                             "../../build/tests/passthrough"))


class DaemonTest(CopyTest):
    DELAY_MS = "0"
    TIMEOUT = 2
    environment = {}  # of the mount

    def setUp(self):
        super().setUp()
        self.other = f"{self.folder}/other"
        self.below = f"{self.folder}/below"
        self.source = f"{self.folder}/source"
        for folder in (f"{self.other}/fine-0", f"{self.below}/orders-0", f"{self.below}/untouched-0",
                       self.source):
            os.makedirs(folder)
        kafka_batch.write_log(f"{self.below}/untouched-0", [kafka_batch.batch(0, [b"untouched"])])
        kafka_batch.write_log(f"{self.other}/fine-0", [kafka_batch.batch(0, [b"fine"])])
        kafka_batch.write_log(f"{self.below}/orders-0", [
            kafka_batch.batch(n * 100, [b"%d " % i + b"x" * 1000 for i in range(100)])
            for n in range(50)])
        self.daemon = subprocess.Popen([PASSTHROUGH, self.below, self.source, "-f"],
                                       env={**os.environ, "PASSTHROUGH_DELAY_MS": self.DELAY_MS})
        self.addCleanup(self.end_daemon)
        wait_until(lambda: is_mounted(self.source), "the file system below")
        self.mounted = self.mount(self.other, self.source, options=[f"io_timeout={self.TIMEOUT}"],
                                  environment=self.environment)

    def stop_daemon(self):
        """Between requests: who waits for one that it has taken can neither end nor be killed."""
        def reads():
            with open(f"/proc/{self.daemon.pid}/io", encoding="utf-8") as counters:
                return next(line for line in counters if line.startswith("syscr"))

        def rests():
            before = reads()
            time.sleep(0.2)
            return reads() == before

        def is_stopped(task):
            with open(f"/proc/{self.daemon.pid}/task/{task}/stat", encoding="utf-8") as stat:
                return stat.read().rpartition(")")[2].split()[0] == "T"
        wait_until(rests, "a daemon that nobody asks")
        self.daemon.send_signal(signal.SIGSTOP)
        wait_until(lambda: all(map(is_stopped, os.listdir(f"/proc/{self.daemon.pid}/task"))),
                   "its stop")

    def end_daemon(self):
        self.daemon.send_signal(signal.SIGCONT)
        self.daemon.terminate()
        self.daemon.wait()
        subprocess.run(["umount", "-l", self.source], check=False, stderr=subprocess.DEVNULL)


class StallingTest(DaemonTest):
    def test_reads_fail_after_the_time_and_nothing_else_hangs(self):
        self.assertEqual(self.mounted.read("orders-0/offsets/7")[:2], b"7 ")
        self.assertIn("watching inotify,polling", self.mounted.text("stats"))
        listed = self.mounted.names()
        self.stop_daemon()
        failures = []

        def read_one(n):
            failures.append(error_of(self.mounted.read, f"orders-0/offsets/{n}"))
        # More than there are threads to answer.
        readers = [threading.Thread(target=read_one, args=(1000 + n,)) for n in range(40)]
        for reader in readers:
            reader.start()
        while any(reader.is_alive() for reader in readers):
            # Each of these within the time that a read of the source takes to fail.
            begun = time.monotonic()
            self.assertEqual(self.mounted.read("fine-0/offsets/0"), b"fine")
            self.assertEqual(self.mounted.read("fine-0/records.values"), b"fine\n")
            self.assertEqual(self.mounted.names(), listed)
            output("ls", "-l", self.mounted.path)
            output("df", self.mounted.path)
            self.assertLess(time.monotonic() - begun, PATIENCE / 2)
            time.sleep(0.05)
        self.assertEqual(set(failures), {EIO})
        self.assertEqual(self.mounted.error("orders-0/offsets/8"), EIO)
        # One line when it begins; not one a read.
        said = [line for line in self.mounted.log().splitlines() if "has not answered" in line]
        self.assertEqual(len(said), 1, self.mounted.log())
        self.daemon.send_signal(signal.SIGCONT)
        wait_until(lambda: self.mounted.error("orders-0/offsets/8") == 0, "an answer")
        self.assertEqual(self.mounted.read("orders-0/offsets/4999")[:3], b"99 ")
        self.assertEqual(self.mounted.names(), listed)

    def test_what_is_polled_is_followed_all_the_same(self):
        with open(f"{self.below}/orders-0/00000000000000000000.log", "ab") as log:
            log.write(kafka_batch.batch(5000, [b"appended"]))
        self.assertEqual(self.mounted.read("orders-0/offsets/5000"), b"appended")
        self.assertEqual(self.mounted.link("orders-0/last"), "offsets/5000")
        follow = subprocess.Popen(["cat", self.mounted / "orders-0/follow/end.values"],
                                  stdout=subprocess.PIPE)
        self.addCleanup(follow.stdout.close)
        self.addCleanup(follow.wait)
        self.addCleanup(follow.kill)
        time.sleep(0.5)  # until it waits; without this it would merely begin later
        with open(f"{self.below}/orders-0/00000000000000000000.log", "ab") as log:
            log.write(kafka_batch.batch(5001, [b"followed"]))
        self.assertEqual(follow.stdout.readline(), b"followed\n")


class UnmountingTest(DaemonTest):
    # Not the search for leaks of a sanitized build: it stops all threads with ptrace(2) first, and
    # waits for ever for those that wait, uninterruptibly, for the source.
    environment = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}

    def test_a_stalled_source_is_not_mounted_and_that_is_said(self):
        point = f"{self.folder}/another"
        os.mkdir(point)
        self.stop_daemon()
        try:
            refused = subprocess.run([BINARY, self.source, point, "-f", "-o", "io_timeout=1"],
                                     env={**os.environ, **self.environment},
                                     stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
        finally:
            self.daemon.send_signal(signal.SIGCONT)
        self.assertEqual(refused.returncode, 32, refused.stderr)
        self.assertEqual(refused.stderr.count("\n"), 1)
        self.assertIn(f"{self.source}: the source does not answer (-o io_timeout)", refused.stderr)

    def test_a_stalled_source_is_no_reason_not_to_unmount(self):
        self.stop_daemon()
        reader = threading.Thread(target=error_of, args=(self.mounted.read, "orders-0/offsets/5"))
        reader.start()
        self.mounted.close()
        reader.join()


class ListingTest(DaemonTest):
    TIMEOUT = 3 * PATIENCE

    def test_partitions_are_listed_and_told_of_without_waiting_for_the_source(self):
        self.assertEqual(self.mounted.read("orders-0/offsets/7")[:2], b"7 ")
        self.stop_daemon()
        time.sleep(2)  # whoever looks for changes waits now, and what was told is old
        listed = []
        looking = threading.Thread(
            target=lambda: listed.append(output("ls", "-l", self.mounted.path)), daemon=True)
        looking.start()
        looking.join(PATIENCE)
        was_listed = len(listed)
        self.daemon.send_signal(signal.SIGCONT)
        looking.join()
        self.assertEqual(was_listed, 1)
        self.assertIn("orders-0", str(listed[0]))

    def names_while_it_stalls(self, *paths):
        """The names in the directories, and which of them were told before the source answered."""
        self.stop_daemon()
        names = {}

        def list_all():
            for path in paths:
                names[path] = self.mounted.names(path)
        looking = threading.Thread(target=list_all, daemon=True)
        looking.start()
        looking.join(PATIENCE)
        told = list(names)
        self.daemon.send_signal(signal.SIGCONT)
        looking.join()
        return names, told

    def test_no_directory_of_names_waits_for_the_source(self):
        base = "orders-0/segments/00000000000000000000"
        paths = ("", "topics", "topics/orders", "orders-0", "orders-0/segments", base,
                 "orders-0/retention", "untouched-0")
        # What is new is looked for again a little later: that must not be waited for either.
        self.assertEqual(self.mounted.read("orders-0/offsets/7")[:2], b"7 ")
        before = {path: self.mounted.names(path) for path in paths}
        os.makedirs(f"{self.below}/new-0")
        kafka_batch.write_log(f"{self.below}/orders-0", [kafka_batch.batch(5000, [b"new"])], 5000)
        wait_until(lambda: "new-0" in self.mounted.names(), "the new partition")
        names, told = self.names_while_it_stalls(*paths)
        self.assertEqual(told, list(paths))
        for path in paths[3:]:
            if path != "orders-0/segments":
                self.assertEqual(names[path], before[path])
        for name in ("first", "last", "active"):
            self.assertIn(name, names["orders-0"])

    def test_a_log_that_was_never_read_has_all_its_names(self):
        names, told = self.names_while_it_stalls("untouched-0")
        self.assertEqual(told, ["untouched-0"])
        for name in ("first", "last", "active", "offsets"):
            self.assertIn(name, names["untouched-0"])


# Each answer comes too late for who asked.
class SlowTest(DaemonTest):
    DELAY_MS = "300"
    TIMEOUT = 60

    def test_what_is_new_in_a_slow_source_appears(self):
        self.assertEqual(self.mounted.read("orders-0/offsets/7")[:2], b"7 ")
        os.makedirs(f"{self.below}/new-0")
        kafka_batch.write_log(f"{self.below}/new-0", [kafka_batch.batch(0, [b"new"])])
        wait_until(lambda: "new-0" in self.mounted.names(), "the new partition")
        self.assertEqual(self.mounted.read("new-0/offsets/0"), b"new")


if __name__ == "__main__":
    unittest.main()
