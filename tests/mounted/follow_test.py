"""follow/: readers that wait at the end of a log which somebody writes beside them."""

import errno
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

import kafka_batch
from mounted import (CopyTest, ENOENT, ESTALE, PATIENCE, SANITIZED, error_of, output, read, run,
                     wait_until)

# A reader as a process of its own: signals, kills and blocked threads stay out of the tests.
COUNTER = r"""
import os, signal, sys
interrupts = 0
if len(sys.argv) > 2:
    def tick(*_):
        global interrupts
        interrupts += 1
    signal.signal(signal.SIGALRM, tick)
    signal.siginterrupt(signal.SIGALRM, True)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open(sys.argv[1], os.O_RDONLY)
out = os.fdopen(1, "wb", buffering=0)
buffer = ctypes.create_string_buffer(1 << 16)
while True:
    n = libc.read(fd, buffer, len(buffer))
    if n < 0 and ctypes.get_errno() == errno.EINTR:
        continue
    if n <= 0:
        break
    data = buffer.raw[:n]
    while data:
        try:
            data = data[os.write(1, data):]
        except InterruptedError:
            pass
    if b"END\n" in buffer.raw[:n]:
        break
sys.stderr.write(str(interrupts))
"""


class Writer:
    """Writes a partition's log as a broker does: batches at the end of the active segment."""

    def __init__(self, folder, next_offset=0):
        self.folder, self.next = folder, next_offset
        self.base = next_offset
        self.bases = [next_offset]
        os.makedirs(folder, exist_ok=True)
        self.file = open(self.path(self.base), "ab", buffering=0)

    def path(self, base):
        return f"{self.folder}/{base:020d}.log"

    def append(self, *values, **more):
        self.file.write(kafka_batch.batch(self.next, values, **more))
        self.next += len(values)

    def roll(self):
        self.file.close()
        self.base = self.next
        self.bases.append(self.base)
        self.file = open(self.path(self.base), "ab", buffering=0)

    def delete_oldest(self):
        """As retention does: renamed first."""
        path = self.path(self.bases.pop(0))
        os.rename(path, path + ".deleted")
        os.unlink(path + ".deleted")

    def close(self):
        self.file.close()


class FollowTest(CopyTest):
    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.folder, "orders-0")
        self.writer = Writer(self.source)
        self.addCleanup(self.writer.close)
        self.writer.append(b"zero", b"one", timestamp=1_700_000_000_000)

    def start(self, *sources):
        self.mounted = self.mount(*(sources or [self.source]))
        return self.mounted

    def open(self, below, flags=0):
        file = os.open(self.mounted / below, os.O_RDONLY | flags)
        self.addCleanup(os.close, file)
        return file

    def cat(self, below, *command):
        process = subprocess.Popen([*(command or ["cat"]), self.mounted / below],
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def counter(self, below, *arguments):
        process = subprocess.Popen([sys.executable, "-c", COUNTER, self.mounted / below, *arguments],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def waiting(self):
        stats = dict(line.split()[:2] for line in self.mounted.text("stats").splitlines())
        return int(stats["followers_waiting"])

    def followers(self):
        stats = dict(line.split()[:2] for line in self.mounted.text("stats").splitlines())
        return int(stats["followers"])

    def wait_for(self, count):
        wait_until(lambda: self.waiting() == count, f"{count} blocked readers")


class NamesTest(FollowTest):
    def test_what_is_followed_exists_by_name_and_is_of_no_size(self):
        self.start()
        self.assertIn("follow", self.mounted.names())
        self.assertEqual(self.mounted.names("follow"), [])
        for name in ("end.jsonl", "0.values", "7.keys", "99999.tsv", "last-3.jsonl", "now-5m.jsonl",
                     "2026-10-29T04:23:56Z.values", "@1793247836.tsv"):
            stat = self.mounted.stat(f"follow/{name}")
            self.assertEqual((stat.st_size, stat.st_mode & 0o222), (0, 0), name)
        for name in ("end", "0", "007.values", "last-0.jsonl", "-1.jsonl", "0.json", "tomorrow.tsv"):
            self.assertEqual(error_of(os.stat, self.mounted / f"follow/{name}"), ENOENT, name)

    def test_the_starts(self):
        self.writer.append(b"two", timestamp=int(time.time() * 1000))
        self.start()
        for name, wanted in (("0", b"zero\none\ntwo\n"), ("1", b"one\ntwo\n"),
                             ("last-2", b"one\ntwo\n"), ("now-5m", b"two\n")):
            self.assertEqual(os.read(self.open(f"follow/{name}.values"), 1000), wanted, name)
        self.assertEqual(os.read(self.open("follow/2.tsv"), 1000).splitlines()[0],
                         b"offset\ttimestamp\tkey\tvalue")
        self.assertEqual(os.read(self.open("follow/1.jsonl"), 100000),
                         self.mounted.read("offsets/1..2.jsonl"))

    def test_it_is_a_stream_without_positions(self):
        self.start()
        file = self.open("follow/0.values")
        self.assertEqual(error_of(os.lseek, file, 0, os.SEEK_END), errno.ESPIPE)
        self.assertEqual(error_of(os.pread, file, 10, 0), errno.ESPIPE)
        self.assertEqual(os.read(file, 3), b"zer")
        self.assertEqual(os.read(file, 100), b"o\none\n")

    def test_a_walk_through_the_mount_does_not_block(self):
        self.start()
        run("grep", "-r", "zero", self.mounted.path)
        self.assertIn(b"follow\n", output("ls", self.mounted.path))
        run("tar", "-C", self.mounted.path, "-cf", "/dev/null", "follow", "offsets")
        run("tar", "-cf", "/dev/null", self.mounted / "follow/end.jsonl")  # empty, not opened
        self.assertEqual(self.followers(), 0)


class WakingTest(FollowTest):
    def test_cat_has_each_record_as_it_is_appended(self):
        self.start()
        cat = self.cat("follow/end.values")
        self.wait_for(1)
        for n in range(20):
            self.writer.append(b"value %d" % n)
            self.assertEqual(cat.stdout.readline(), b"value %d\n" % n)

    def test_tools_that_read_to_a_point_end_there(self):
        self.start()
        head = self.cat("follow/0.values", "head", "-n", "3")
        grep = self.cat("follow/end.jsonl", "grep", "-m", "1", "--line-buffered", "needle")
        self.wait_for(2)
        self.writer.append(b"hay")
        self.writer.append(b"needle")
        self.assertEqual(head.communicate(timeout=PATIENCE)[0], b"zero\none\nhay\n")
        self.assertIn(b"needle", grep.communicate(timeout=PATIENCE)[0])
        wait_until(lambda: self.followers() == 0, "the end of both")

    def test_a_batch_is_given_once_it_is_whole(self):
        self.start()
        file = self.open("follow/end.values", os.O_NONBLOCK)
        batch = kafka_batch.batch(2, [b"half", b"whole"])
        for cut in range(0, len(batch), 7):
            self.writer.file.write(batch[cut:cut + 7])
            if cut + 7 < len(batch):
                self.assertEqual(error_of(os.read, file, 100), errno.EAGAIN)
        self.assertEqual(os.read(file, 100), b"half\nwhole\n")

    def test_a_roll_while_a_reader_waits(self):
        self.start()
        cat = self.cat("follow/1.values")
        self.assertEqual(cat.stdout.readline(), b"one\n")
        self.wait_for(1)
        for n in range(5):
            self.writer.roll()
            self.writer.append(b"after roll %d" % n)
            self.assertEqual(cat.stdout.readline(), b"after roll %d\n" % n)
            self.writer.delete_oldest()
        self.assertEqual(self.mounted.complaints(), [])

    def test_a_time_to_come(self):
        self.start()
        now = int(time.time() * 1000)
        cat = self.cat("follow/now.values")
        self.wait_for(1)
        self.writer.append(b"old", timestamp=now - 60_000)
        self.writer.append(b"new", timestamp=now + 60_000)
        self.writer.append(b"old again", timestamp=now - 60_000)
        self.assertEqual(cat.stdout.readline(), b"new\n")
        self.assertEqual(cat.stdout.readline(), b"old again\n")

    def test_a_new_partition_of_a_broker_is_followed_before_its_first_record(self):
        broker = os.path.join(self.folder, "broker")
        os.makedirs(broker)
        with open(f"{broker}/meta.properties", "w", encoding="ascii") as meta:
            meta.write("version=1\nnode.id=1\n")
        shutil.move(self.source, f"{broker}/orders-0")
        mount = self.start(broker)
        writer = Writer(f"{broker}/new-0")
        self.addCleanup(writer.close)
        wait_until(lambda: "new-0" in mount.names(), "the partition")
        cat = self.cat("new-0/follow/end.values")
        self.wait_for(1)
        writer.append(b"first")
        self.assertEqual(cat.stdout.readline(), b"first\n")


class SignalsTest(FollowTest):
    def test_ctrl_c_and_sigkill_end_a_blocked_reader(self):
        self.start()
        for ending in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM):
            cat = self.cat("follow/1.values")
            self.assertEqual(cat.stdout.readline(), b"one\n")
            self.wait_for(1)
            cat.send_signal(ending)
            self.assertEqual(cat.wait(PATIENCE), -ending)
            wait_until(lambda: self.followers() == 0, "the end of the follower")
            self.wait_for(0)

    def test_a_stopped_reader_goes_on(self):
        self.start()
        cat = self.cat("follow/1.values")
        self.assertEqual(cat.stdout.readline(), b"one\n")
        self.wait_for(1)
        cat.send_signal(signal.SIGSTOP)
        self.writer.append(b"two")
        cat.send_signal(signal.SIGCONT)
        self.assertEqual(cat.stdout.readline(), b"two\n")
        self.writer.append(b"three")
        self.assertEqual(cat.stdout.readline(), b"three\n")

    def test_interrupted_reads_lose_nothing_and_double_nothing(self):
        self.start()
        reader = self.counter("follow/end.values", "interrupted")
        wait_until(lambda: self.followers() == 1, "the reader")
        lines = [b"line %d" % n for n in range(300 if SANITIZED else 2000)]
        for n in range(0, len(lines), 2):
            self.writer.append(*lines[n:n + 2])
            if n % 16 == 0:
                time.sleep(0.002)
        self.writer.append(b"END")
        got, told = reader.communicate(timeout=PATIENCE)
        self.assertEqual(got.splitlines(), lines + [b"END"])
        self.assertGreater(int(told), 0)

    def test_a_killed_reader_takes_nothing_from_the_others(self):
        self.start()
        readers = [self.cat("follow/1.values") for _ in range(10)]
        for reader in readers:
            self.assertEqual(reader.stdout.readline(), b"one\n")
        self.wait_for(10)
        for reader in readers[:5]:
            reader.kill()
        self.writer.append(b"two")
        for reader in readers[5:]:
            self.assertEqual(reader.stdout.readline(), b"two\n")
        wait_until(lambda: self.followers() == 5, "the end of the killed")


class PollTest(FollowTest):
    def test_poll_and_select(self):
        self.start()
        file = self.open("follow/end.values")
        poll = select.poll()
        poll.register(file, select.POLLIN)
        self.assertEqual(poll.poll(50), [])
        self.assertEqual(select.select([file], [], [], 0.05), ([], [], []))
        for n in range(5):
            threading.Timer(0.02, self.writer.append, [b"value %d" % n]).start()
            if n % 2:
                self.assertEqual(poll.poll(PATIENCE * 1000), [(file, select.POLLIN)])
            else:
                self.assertEqual(select.select([file], [], [], PATIENCE)[0], [file])
            self.assertEqual(os.read(file, 100), b"value %d\n" % n)
            self.assertEqual(poll.poll(0), [])

    def test_epoll_by_level_and_by_edge(self):
        self.start()
        for extra in (0, select.EPOLLET):
            file = self.open("follow/end.values", os.O_NONBLOCK)
            with select.epoll() as epoll:
                epoll.register(file, select.EPOLLIN | extra)
                self.assertEqual(epoll.poll(0.05), [])
                for n in range(10):
                    self.writer.append(b"%d" % n)
                    self.assertEqual(epoll.poll(PATIENCE), [(file, select.EPOLLIN)])
                    if not extra and n % 2:
                        self.assertEqual(epoll.poll(PATIENCE), [(file, select.EPOLLIN)])
                    got = b""
                    while not got.endswith(b"\n"):
                        got += os.read(file, 1)
                    self.assertEqual(error_of(os.read, file, 1), errno.EAGAIN)
                    self.assertEqual(got, b"%d\n" % n)

    def test_an_edge_comes_for_each_append_even_if_nothing_was_read(self):
        self.start()
        file = self.open("follow/end.values", os.O_NONBLOCK)
        with select.epoll() as epoll:
            epoll.register(file, select.EPOLLIN | select.EPOLLET)
            for n in range(5):
                self.writer.append(b"%d" % n)
                self.assertEqual(epoll.poll(PATIENCE), [(file, select.EPOLLIN)])
        self.assertEqual(os.read(file, 100), b"0\n1\n2\n3\n4\n")

    def test_markers_are_nothing_to_wake_for(self):
        self.start()
        file = self.open("follow/end.values", os.O_NONBLOCK)
        poll = select.poll()
        poll.register(file, select.POLLIN)
        self.writer.file.write(kafka_batch.batch_of(2, b"", 0, 1_800_000_000_000, 0x30))
        self.assertEqual(poll.poll(100), [])
        self.assertEqual(error_of(os.read, file, 100), errno.EAGAIN)

    def test_other_files_are_always_ready(self):
        self.start()
        file = self.open("offsets/0")
        poll = select.poll()
        poll.register(file, select.POLLIN)
        self.assertEqual(poll.poll(PATIENCE * 1000), [(file, select.POLLIN)])

    def test_nonblocking_reads(self):
        self.start()
        file = self.open("follow/1.values", os.O_NONBLOCK)
        self.assertEqual(os.read(file, 100), b"one\n")
        self.assertEqual(error_of(os.read, file, 100), errno.EAGAIN)
        os.set_blocking(file, True)
        threading.Timer(0.05, self.writer.append, [b"two"]).start()
        self.assertEqual(os.read(file, 100), b"two\n")

    def test_a_large_read_gets_what_there_is_and_waits_for_no_more(self):
        # The kernel asks for it in parts, and after one that was filled for the next.
        line = b"x" * 1023 + b"\n"
        self.start()
        self.writer.append(*[line[:-1]] * 1024)
        for kib in (256, 384, 512, 640, 1024):
            dd = subprocess.run(["dd", f"if={self.mounted / f'follow/last-{kib}.values'}", "bs=4M",
                                 "count=1", "status=none"], stdout=subprocess.PIPE, check=True,
                                timeout=PATIENCE)
            self.assertGreater(len(dd.stdout), 0)
            self.assertEqual(dd.stdout, (line * kib)[:len(dd.stdout)])


class CrowdTest(FollowTest):
    def test_many_blocked_readers_cost_no_thread_each_and_hold_up_nobody(self):
        self.start()
        files = [self.open("follow/end.values") for _ in range(200)]
        got = [None] * len(files)

        def take(i):
            got[i] = os.read(files[i], 100)
        threads = [threading.Thread(target=take, args=[i]) for i in range(len(files))]
        for thread in threads:
            thread.start()
        self.wait_for(len(files))
        with open(f"/proc/{self.mounted.process.pid}/status", encoding="ascii") as status:
            daemons = next(int(l.split()[1]) for l in status if l.startswith("Threads:"))
        self.assertLess(daemons, 40)
        self.assertEqual(self.mounted.read("offsets/1"), b"one")
        self.writer.append(b"for all")
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual(got, [b"for all\n"] * len(files))

    def test_who_does_not_read_holds_back_nobody(self):
        self.start()
        lazy = [self.open("follow/0.values") for _ in range(20)]
        for file in lazy:
            self.assertEqual(os.read(file, 2), b"ze")
        cat = self.cat("follow/end.values")
        self.wait_for(1)
        value = b"v" * 10_000
        for n in range(200):
            self.writer.append(value, b"%d" % n)
            self.assertEqual(cat.stdout.readline(), value + b"\n")
            self.assertEqual(cat.stdout.readline(), b"%d\n" % n)
        for file in lazy:
            rest = b""
            while len(rest) < 100_000:
                rest += os.read(file, 65536)
            self.assertTrue(rest.startswith(b"ro\none\n" + value + b"\n0\n" + value))

    def test_every_reader_gets_every_record_once_beside_a_writer_that_rolls_and_deletes(self):
        self.start()
        forms = ["values", "jsonl", "keys", "tsv"]
        readers = [self.counter(f"follow/0.{forms[i % 2]}") for i in range(4)]
        got = [[] for _ in readers]

        def collect(i):
            for line in readers[i].stdout:
                got[i].append(line)
        threads = [threading.Thread(target=collect, args=[i]) for i in range(len(readers))]
        for thread in threads:
            thread.start()
        seed = random.randrange(1 << 32)
        rand = random.Random(seed)
        values = [b"zero", b"one"]
        for n in range(150 if SANITIZED else 1500):
            batch = [b"%d %s" % (self.writer.next + i, b"." * rand.randrange(200))
                     for i in range(rand.randrange(1, 8))]
            self.writer.append(*batch, codec=rand.randrange(2))
            values += batch
            if rand.random() < 0.03:
                self.writer.roll()
            # Retention keeps more than the slowest is behind.
            if len(self.writer.bases) > 2:
                slowest = min(len(lines) for lines in got)
                if self.writer.bases[2] < slowest:
                    self.writer.delete_oldest()
        self.writer.append(b"END")
        values.append(b"END")
        # END stands inside of an object in .jsonl: those are ended by hand.
        for i, thread in enumerate(threads):
            wait_until(lambda i=i: len(got[i]) >= len(values), f"all lines of {i}, seed {seed}")
            readers[i].kill()
            thread.join(PATIENCE)
            if i % 2 == 0:
                self.assertTrue(got[i] == [value + b"\n" for value in values], f"seed {seed}")
            else:
                offsets = [int(line.split(b'"offset":')[1].split(b",")[0]) for line in got[i]]
                self.assertEqual(offsets, list(range(len(values))), f"seed {seed}")
        self.assertEqual(self.mounted.complaints(), [])
        self.assertEqual(self.mounted.read("problems.jsonl"), b"")


class LostTest(FollowTest):
    def test_who_is_passed_by_retention_goes_on_at_the_log_start(self):
        self.start()
        file = self.open("follow/0.values")
        self.assertEqual(os.read(file, 5), b"zero\n")
        self.assertEqual(os.read(file, 4), b"one\n")
        self.writer.append(b"two")
        self.writer.roll()
        self.writer.append(b"three")
        self.writer.roll()
        self.writer.append(b"four")
        self.writer.delete_oldest()
        self.writer.delete_oldest()
        self.assertEqual(os.read(file, 100), b"four\n")
        self.assertIn("orders-0: a follower was passed by retention: it missed the offsets 2 to 3 "
                      "and goes on at 4", self.mounted.log())
        self.assertEqual(self.mounted.read("problems.jsonl"), b"")

    def test_records_that_were_given_and_are_truncated_away_end_the_stream(self):
        self.start()
        size = os.path.getsize(self.writer.path(0))
        cat = self.cat("follow/1.values")
        self.assertEqual(cat.stdout.readline(), b"one\n")
        standing = self.open("follow/1.values")
        self.assertEqual(os.read(standing, 100), b"one\n")
        self.writer.append(b"two")
        self.assertEqual(cat.stdout.readline(), b"two\n")
        self.wait_for(1)
        os.truncate(self.writer.path(0), size)
        self.writer.next = 2
        self.assertNotEqual(cat.wait(PATIENCE), 0)
        self.writer.append(b"another two", leader_epoch=1)
        # Who had not been given it has lost nothing.
        self.assertEqual(os.read(standing, 100), b"another two\n")

    def test_a_topic_that_is_deleted_and_made_anew(self):
        broker = os.path.join(self.folder, "broker")
        os.makedirs(broker)
        with open(f"{broker}/meta.properties", "w", encoding="ascii") as meta:
            meta.write("version=1\nnode.id=1\n")
        shutil.move(self.source, f"{broker}/orders-0")
        self.start(broker)
        file = self.open("orders-0/follow/end.values")
        cat = self.cat("orders-0/follow/1.values")
        self.assertEqual(cat.stdout.readline(), b"one\n")
        shutil.rmtree(f"{broker}/orders-0")
        writer = Writer(f"{broker}/orders-0")
        self.addCleanup(writer.close)
        writer.append(b"new zero", b"new one", b"new two")
        self.assertNotEqual(cat.wait(PATIENCE), 0)
        self.assertEqual(error_of(os.read, file, 100), ESTALE)
        wait_until(lambda: error_of(os.stat, self.mounted / "orders-0/follow/0.values") == 0 and
                   os.read(self.open("orders-0/follow/0.values"), 9) == b"new zero\n", "the new topic")

    def test_damage_ends_it_and_the_log_says_where_to_go_on(self):
        self.writer.append(b"two")
        size = os.path.getsize(self.writer.path(0))
        self.writer.append(b"three")
        self.writer.append(b"four")
        with open(self.writer.path(0), "r+b") as log:
            log.seek(size + 70)
            log.write(b"\xff\xff")
        self.start()
        file = self.open("follow/0.values")
        self.assertEqual(os.read(file, 100), b"zero\none\ntwo\n")
        self.assertEqual(error_of(os.read, file, 100), errno.EIO)
        self.assertIn("go on from offset 4", self.mounted.log())
        self.assertEqual(os.read(self.open("follow/4.values"), 100), b"four\n")


class EndTest(FollowTest):
    def test_unmounting_ends_blocked_readers(self):
        for ending in (signal.SIGINT, signal.SIGTERM):
            self.start()
            readers = [self.cat("follow/1.values") for _ in range(5)]
            for reader in readers:
                self.assertEqual(reader.stdout.readline(), b"one\n")
            self.wait_for(5)
            begin = time.monotonic()
            self.mounted.process.send_signal(ending)
            self.assertEqual(self.mounted.process.wait(PATIENCE), 0)
            for reader in readers:
                self.assertEqual(reader.wait(PATIENCE), 0)  # the end of the file
            self.assertLess(time.monotonic() - begin, PATIENCE)

    def test_unmounting_wakes_who_polls(self):
        self.start()
        file = self.open("follow/end.values")
        poll = select.poll()
        poll.register(file, select.POLLIN)
        threading.Timer(0.2, self.mounted.process.send_signal, [signal.SIGTERM]).start()
        self.assertNotEqual(poll.poll(PATIENCE * 1000), [])
        self.assertEqual(self.mounted.process.wait(PATIENCE), 0)

    def test_a_killed_daemon_ends_its_readers(self):
        self.start()
        cat = self.cat("follow/1.values")
        self.assertEqual(cat.stdout.readline(), b"one\n")
        self.wait_for(1)
        self.mounted.process.kill()
        self.mounted.process.wait()
        self.assertNotEqual(cat.wait(PATIENCE), 0)
        self.mounted._clear()

    def test_a_mount_with_a_blocked_reader_is_busy(self):
        self.start()
        cat = self.cat("follow/1.values")
        self.assertEqual(cat.stdout.readline(), b"one\n")
        self.wait_for(1)
        self.assertNotEqual(run("fusermount3", "-u", self.mounted.path, check=False).returncode, 0)
        self.writer.append(b"two")
        self.assertEqual(cat.stdout.readline(), b"two\n")


if __name__ == "__main__":
    unittest.main()
