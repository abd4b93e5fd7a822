"""A source that lives: its broker appends, rolls, deletes, creates partitions."""

import errno
import os
import shutil
import signal
import subprocess
import threading
import time
import unittest

import kafka_batch
from mounted import CopyTest, ENOENT, answer_records, read, run, wait_until


class GrowingTest(CopyTest):
    def setUp(self):
        super().setUp()
        self.source = self.copy("clean/orders-0")
        self.log = f"{self.source}/00000000000000000000.log"
        self.next = 500
        self.values = [r["value"] for r in answer_records("clean", "orders")]
        self.mounted = self.mount(self.source)

    def append(self, *values, log=None):
        with open(log or self.log, "ab") as file:
            file.write(kafka_batch.batch(self.next, values))
        self.next += len(values)
        self.values += values

    def test_new_records_are_there_at_once(self):
        self.assertEqual(self.mounted.error("offsets/500"), ENOENT)
        self.append(b"five hundred", b"more")
        self.assertEqual(self.mounted.read("offsets/500"), b"five hundred")
        self.assertEqual(self.mounted.read("offsets/501"), b"more")
        self.assertEqual(self.mounted.link("last"), "offsets/501")
        self.assertEqual(self.mounted.text("state/log_end_offset"), "502\n")
        self.assertEqual(self.mounted.read("offsets/498..last.values").count(b"\n"), 4)
        self.assertEqual(len(self.mounted.names("offsets")), 502)

    def test_every_look_at_the_active_segment_is_right_at_any_moment(self):
        path = self.mounted / "active/records.values"
        for n in range(30):
            self.append(b"value %d" % n)
            wanted = b"".join(value + b"\n" for value in self.values)
            if n % 3 == 0:
                self.assertEqual(read(path), wanted)
            elif n % 3 == 1:
                self.assertEqual(run("tail", "-n", "1", path).stdout, b"value %d\n" % n)
                self.assertEqual(int(run("wc", "-c", path).stdout.split()[0]), len(wanted))
            else:
                self.assertEqual(int(run("grep", "-c", "", path).stdout), len(self.values))

    def test_an_open_file_grows(self):
        with open(self.mounted / "active/records.values", "rb") as file:
            whole = file.read()
            self.assertEqual(whole.count(b"\n"), 500)
            for n in range(10):
                self.append(b"value %d" % n)
                self.assertEqual(os.pread(file.fileno(), 100, len(whole)), b"value %d\n" % n)
                whole += b"value %d\n" % n
                self.assertEqual(os.fstat(file.fileno()).st_size, len(whole))

    def test_a_truncation_under_an_open_stream_is_stale_and_not_its_end(self):
        self.append(*[b"%05d" % n + b"x" * 100 for n in range(3000)])
        before = os.path.getsize(self.log)
        self.append(*[b"%05d" % n + b"y" * 100 for n in range(3000)])
        with open(self.mounted / "active/records.values", "rb", buffering=0) as file:
            given = file.read(4096)
            os.truncate(self.log, before)
            with self.assertRaises(OSError) as failed:
                while chunk := file.read(1 << 17):
                    given += chunk
            self.assertEqual(failed.exception.errno, errno.ESTALE)
        self.assertTrue(b"".join(value + b"\n" for value in self.values).startswith(given))
        self.assertEqual(read(self.mounted / "active/records.values"),
                         b"".join(value + b"\n" for value in self.values[:-3000]))

    def test_tail_f_follows(self):
        tail = subprocess.Popen(["tail", "-s", "0.1", "-n", "0", "-f",
                                 self.mounted / "active/records.values"], stdout=subprocess.PIPE)
        self.addCleanup(tail.stdout.close)
        self.addCleanup(tail.wait)
        self.addCleanup(tail.kill)
        time.sleep(1)  # until it waits; without this it would merely begin later
        for n in range(5):
            self.append(b"value %d" % n)
            self.assertEqual(tail.stdout.readline(), b"value %d\n" % n)

    def test_tail_f_has_all_of_a_segment_that_goes_between_two_of_its_looks(self):
        tail = subprocess.Popen(["tail", "-s", "0.05", "-n", "1", "-f",
                                 self.mounted / "active/records.values"], stdout=subprocess.PIPE)
        self.addCleanup(tail.stdout.close)
        self.addCleanup(tail.wait)
        self.addCleanup(tail.kill)
        self.assertEqual(tail.stdout.readline(), self.values[-1] + b"\n")
        tail.send_signal(signal.SIGSTOP)
        last = [b"last %d" % n for n in range(50)]
        self.append(*last)
        kafka_batch.write_log(self.source, [kafka_batch.batch(self.next, [b"first of the new"])],
                              self.next)
        for name in os.listdir(self.source):
            if name.startswith("00000000000000000000."):
                os.rename(f"{self.source}/{name}", f"{self.source}/{name}.deleted")
        wait_until(lambda: self.mounted.error("offsets/5") == ENOENT, "the end of the segment")
        tail.send_signal(signal.SIGCONT)
        self.assertEqual([tail.stdout.readline() for _ in last], [v + b"\n" for v in last])

    def test_a_batch_that_is_still_being_written_is_the_end(self):
        batch = kafka_batch.batch(self.next, [b"half"])
        for cut in (1, 12, 30, 61, len(batch) - 1):
            with open(self.log, "ab") as file:
                file.write(batch[:cut])
            self.assertEqual(self.mounted.text("state/log_end_offset"), "500\n")
            self.assertEqual(self.mounted.error("offsets/500"), ENOENT)
            self.assertEqual(self.mounted.read("active/records.values").count(b"\n"), 500)
            os.truncate(self.log, os.path.getsize(self.log) - cut)
        with open(self.log, "ab") as file:
            file.write(batch)
        self.assertEqual(self.mounted.read("offsets/500"), b"half")
        self.assertEqual(self.mounted.read("problems.jsonl"), b"")

    def test_a_roll(self):
        self.append(b"last of the old")
        kafka_batch.write_log(self.source, [kafka_batch.batch(self.next, [b"first of the new"])],
                              self.next)
        self.assertEqual(self.mounted.link("active"), f"segments/{self.next:020d}")
        self.assertEqual(self.mounted.read(f"offsets/{self.next}"), b"first of the new")
        self.assertEqual(self.mounted.read("offsets/500"), b"last of the old")
        self.assertEqual(self.mounted.read("records.values").count(b"\n"), 502)


class ShrinkingTest(CopyTest):
    def test_retention_takes_a_segment(self):
        source = self.copy("clean/seg-demo-0")
        mount = self.mount(source)
        records = answer_records("clean", "seg-demo")
        self.assertEqual(mount.read("offsets/5"), records[5]["value"])
        with open(mount / "segments/00000000000000000000/records.values", "rb") as held:
            first = held.read(100)
            for name in os.listdir(source):
                if name.startswith("00000000000000000000."):
                    os.rename(f"{source}/{name}", f"{source}/{name}.deleted")
            wait_until(lambda: mount.error("offsets/5") == ENOENT, "the end of offset 5")
            self.assertEqual(mount.link("first"), "offsets/1005")
            self.assertIn("00000000000000000000.deleted", mount.names("segments"))
            shown = mount.read("segments/00000000000000000000.deleted/records.values")
            self.assertTrue(shown.startswith(first))
            for name in os.listdir(source):
                if name.endswith(".deleted"):
                    os.unlink(f"{source}/{name}")
            # A reader that has the file open keeps it to the end.
            self.assertEqual(first + held.read(), shown)
        wait_until(lambda: "00000000000000000000.deleted" not in mount.names("segments"), "its end")
        self.assertEqual(mount.read("offsets/1005"), records[1005]["value"])

    def test_retention_under_a_broker_whose_high_watermark_is_known(self):
        # The kernel may keep for ever what lies below it; what retention took must go all the same.
        source = self.copy("clean", "source")
        mount = self.mount(source)
        folder = f"{source}/seg-demo-0"
        self.assertEqual(mount.read("seg-demo-0/offsets/5"), answer_records("clean", "seg-demo")[5]["value"])
        for name in os.listdir(folder):
            if name.startswith("00000000000000000000."):
                os.unlink(f"{folder}/{name}")
        wait_until(lambda: mount.error("seg-demo-0/offsets/5") == ENOENT, "the end of offset 5")
        wait_until(lambda: mount.link("seg-demo-0/first") == "offsets/1005", "another first")
        wait_until(lambda: "00000000000000000000" not in mount.names("seg-demo-0/segments"), "its end")

    def test_a_listing_survives_appends_and_deletions(self):
        source = self.copy("clean/seg-demo-0")
        mount = self.mount(source)
        with os.scandir(mount / "offsets") as listing:
            names = [next(listing).name for _ in range(10)]
            for name in os.listdir(source):
                if name.startswith("00000000000000001005."):
                    os.unlink(f"{source}/{name}")
            with open(f"{source}/00000000000000003015.log", "ab") as log:
                log.write(kafka_batch.batch(4000, [b"new"]))
            names += [entry.name for entry in listing]
        numbers = [int(name) for name in names]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertLessEqual(set(range(2010, 4000)), set(numbers))
        self.assertEqual(numbers[:10], list(range(10)))


class PartitionsTest(CopyTest):
    def test_partitions_come_and_go(self):
        source = self.copy("clean", "source")
        mount = self.mount(source)
        self.assertEqual(mount.error("new-0/records.values"), ENOENT)
        os.mkdir(f"{source}/new-0")
        kafka_batch.write_log(f"{source}/new-0", [kafka_batch.batch(0, [b"hello"])])
        wait_until(lambda: "new-0" in os.listdir(mount.path), "the new partition")
        self.assertEqual(mount.read("new-0/offsets/0"), b"hello")
        shutil.rmtree(f"{source}/new-0")
        wait_until(lambda: "new-0" not in os.listdir(mount.path), "the end of it")
        self.assertEqual(mount.error("new-0/offsets/0"), ENOENT)
        self.assertEqual(mount.read("orders-0/offsets/5"), answer_records("clean", "orders")[5]["value"])

    def test_a_source_that_is_removed_says_so(self):
        source = self.copy("clean/orders-0")
        mount = self.mount(source)
        self.assertEqual(mount.read("offsets/5"), answer_records("clean", "orders")[5]["value"])
        shutil.rmtree(source)
        os.mkdir(source)
        kafka_batch.write_log(source, [kafka_batch.batch(0, [b"of another log"] * 9)], 0)
        wait_until(lambda: mount.error("offsets/5") == ENOENT, "the end of offset 5")
        def has_said_so():
            mount.error("offsets/5")  # whoever uses it is who hears of it
            return "was removed" in mount.log()
        wait_until(has_said_so, "the word of it")
        self.assertEqual(mount.log().count("unmount and mount again"), 1)
        self.assertIn("unmount and mount again", mount.text("problems.jsonl"))

    def test_a_topic_created_anew_is_another_one(self):
        source = self.copy("clean", "source")
        mount = self.mount(source)
        self.assertEqual(mount.read("orders-0/offsets/5"), answer_records("clean", "orders")[5]["value"])
        number = os.stat(mount / "orders-0/offsets").st_ino
        shutil.rmtree(f"{source}/orders-0")
        os.mkdir(f"{source}/orders-0")
        kafka_batch.write_log(f"{source}/orders-0", [
            kafka_batch.batch(0, [b"new %d" % n for n in range(10)])])
        wait_until(lambda: mount.error("orders-0/offsets/5") == 0 and
                   mount.read("orders-0/offsets/5") == b"new 5", "the new topic's records")
        self.assertNotEqual(os.stat(mount / "orders-0/offsets").st_ino, number)

    def test_no_reader_of_a_topic_created_anew_again_and_again_gets_zeros(self):
        source = f"{self.folder}/recreated"
        partition = f"{source}/t-0"
        batches = [kafka_batch.batch(base, [b"A%09d" % (base + i) + b"x" * 60 for i in range(50)])
                   for base in range(0, 200, 50)]

        def make():
            os.makedirs(partition)
            kafka_batch.write_log(partition, batches)

        make()
        mount = self.mount(source)
        reads = []
        zeros = []
        stop = threading.Event()

        def read_on():
            while not stop.is_set():
                for name in ("records.values", "offsets/0..150.values", "active/records.values"):
                    try:
                        with open(mount / f"t-0/{name}", "rb") as file:
                            content = file.read()
                    except OSError:
                        continue
                    reads.append(len(content))
                    if b"\0" in content:
                        zeros.append((name, len(content)))

        readers = [threading.Thread(target=read_on) for _ in range(4)]
        for reader in readers:
            reader.start()
        for n in range(40):
            gone = f"{source}/t-0.{n:032x}-delete"
            os.rename(partition, gone)
            shutil.rmtree(gone)
            make()
            time.sleep(0.03)
        stop.set()
        for reader in readers:
            reader.join()
        self.assertEqual(zeros, [])
        self.assertGreater(max(reads), 10000)


if __name__ == "__main__":
    unittest.main()
