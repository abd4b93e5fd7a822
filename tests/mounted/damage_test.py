"""Bad input: never a crash, never a hang, never a wrong byte served as right."""

import contextlib
import errno
import os
import resource
import socket
import unittest

import kafka_batch
from mounted import (CopyTest, EIO, ENOENT, SANITIZED, answer_dump, answer_records, error_of, read,
                     run, wait_until)

LOG = "00000000000000000000.log"
# The limit of 256 MiB twice and then some; a sanitizer keeps what was freed for a while.
MOST_KIB = (2048 if SANITIZED else 700) << 10


def overwrite(path, position, data):
    stat = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def flip(path, position):
    with open(path, "rb") as file:
        file.seek(position)
        byte = file.read(1)[0]
    overwrite(path, position, bytes([byte ^ 0xFF]))


class FlippedByteTest(CopyTest):
    """One byte of one batch is wrong."""

    def setUp(self):
        super().setUp()
        self.source = self.copy("clean/seg-demo-0")
        self.batches = answer_dump("clean", "seg-demo-0", LOG)
        self.bad = self.batches[20]
        flip(f"{self.source}/{LOG}", int(self.bad["position"]) + 500)
        self.first, self.last = int(self.bad["baseOffset"]), int(self.bad["lastOffset"])
        self.records = answer_records("clean", "seg-demo")

    def test_its_records_alone_are_eio(self):
        mount = self.mount(self.source)
        for record in self.records[:600]:
            path = f"offsets/{record['offset']}"
            if self.first <= record["offset"] <= self.last:
                self.assertEqual(mount.error(path), EIO, path)
                self.assertEqual(mount.lookup(f"{path}.lookup")["result"], "damaged")
            else:
                self.assertEqual(mount.read(path), record["value"], path)

    def test_one_log_line_says_file_position_expected_and_found(self):
        mount = self.mount(self.source)
        for _ in range(3):
            for n in range(self.first, self.last + 1):
                self.assertEqual(mount.error(f"offsets/{n}"), EIO)
        lines = [line for line in mount.complaints() if LOG in line]
        self.assertEqual(len(lines), 1, mount.log())
        self.assertIn(self.bad["position"], lines[0])
        stored = int(self.bad["crc"])
        self.assertTrue(str(stored) in lines[0] or f"{stored:x}" in lines[0].lower(), lines[0])
        problems = mount.objects("problems.jsonl")
        self.assertEqual([(p["file"].endswith(LOG), p["position"]) for p in problems],
                         [(True, int(self.bad["position"]))])

    def test_a_stream_gives_every_byte_before_the_damage_and_then_eio(self):
        mount = self.mount(self.source)
        wanted = b"".join(r["value"] + b"\n" for r in self.records if r["offset"] < self.first)
        for path in ("records.values", "segments/00000000000000000000/records.values",
                     "offsets/0..4000.values"):
            got = b""
            with open(mount / path, "rb", buffering=0) as file:
                with self.assertRaises(OSError) as caught:
                    while piece := file.read(1000):
                        got += piece
            self.assertEqual(caught.exception.errno, EIO, path)
            self.assertEqual(got, wanted, path)
        ended = run("cat", mount / "records.values", check=False)
        self.assertNotEqual(ended.returncode, 0)
        self.assertEqual(ended.stdout, wanted)

    def test_the_log_names_the_offset_to_go_on_from(self):
        mount = self.mount(self.source)
        run("cat", mount / "records.values", check=False)
        self.assertIn(str(self.last + 1), "\n".join(mount.complaints()))
        rest = mount.read(f"offsets/{self.last + 1}..last.values")
        self.assertEqual(rest, b"".join(r["value"] + b"\n" for r in self.records
                                        if r["offset"] > self.last))

    def test_neighbouring_segments_are_as_before(self):
        mount = self.mount(self.source)
        wanted = b"".join(r["value"] + b"\n" for r in self.records if 1005 <= r["offset"] < 2010)
        self.assertEqual(mount.read("segments/00000000000000001005/records.values"), wanted)

    def test_damage_is_listed(self):
        mount = self.mount(self.source)
        ranges = mount.objects("segments/00000000000000000000/damage.jsonl")
        self.assertEqual(len(ranges), 1)
        self.assertEqual(ranges[0]["position"], int(self.bad["position"]))
        self.assertEqual(mount.read("segments/00000000000000001005/damage.jsonl"), b"")
        batches = mount.objects("segments/00000000000000000000/batches.jsonl")
        self.assertEqual([b["position"] for b in batches if b.get("crc_valid") is False],
                         [int(self.bad["position"])])


class EveryByteOfAHeaderTest(CopyTest):
    """Whatever byte of a header is flipped: right bytes, or an error, and the mount goes on."""

    def test_flipping_each_of_them(self):
        source = self.copy("clean/seg-demo-0")
        records = answer_records("clean", "seg-demo")
        bad = answer_dump("clean", "seg-demo-0", LOG)[20]
        first, last = int(bad["baseOffset"]), int(bad["lastOffset"])
        with open(f"{source}/{LOG}", "rb") as file:
            file.seek(int(bad["position"]))
            whole = file.read(61)
        for i in range(0, 61, 5 if SANITIZED else 1):
            overwrite(f"{source}/{LOG}", int(bad["position"]), whole)
            flip(f"{source}/{LOG}", int(bad["position"]) + i)
            with self.subTest(byte=i):
                from mounted import Mount
                with Mount(source) as mount:
                    for n in (first, last, last + 1, first - 1, 0, 1004, 2000):
                        data = None
                        try:
                            data = mount.read(f"offsets/{n}")
                        except OSError as error:
                            self.assertIn(error.errno, (EIO, ENOENT), n)
                        if data is not None:
                            self.assertEqual(data, records[n]["value"], n)
                    # What lies before the damage, and in other segments, is untouched by it.
                    for n in (0, first - 1, 1005, 3999):
                        self.assertEqual(mount.read(f"offsets/{n}"), records[n]["value"], n)


class TailTest(CopyTest):
    """What a crash or preallocation leaves behind the last whole batch is the end of the log."""

    ACTIVE = "00000000000000003015.log"

    def tail_of(self, mount, end):
        records = answer_records("clean", "seg-demo")
        self.assertEqual(mount.text("state/log_end_offset"), f"{end}\n")
        self.assertEqual(mount.link("last"), f"offsets/{end - 1}")
        self.assertEqual(mount.error(f"offsets/{end}"), ENOENT)
        self.assertEqual(mount.read("active/records.values"),
                         b"".join(r["value"] + b"\n" for r in records if 3015 <= r["offset"] < end))
        self.assertEqual(mount.read(f"offsets/{end - 1}"), records[end - 1]["value"])

    def test_a_torn_batch(self):
        source = self.copy("clean/seg-demo-0")
        batches = answer_dump("clean", "seg-demo-0", self.ACTIVE)
        with open(f"{source}/{self.ACTIVE}", "r+b") as file:
            file.truncate(int(batches[-1]["position"]) + int(batches[-1]["size"]) - 7)
        mount = self.mount(source)
        self.tail_of(mount, int(batches[-2]["lastOffset"]) + 1)
        self.assertEqual(mount.read("problems.jsonl"), b"")

    def test_a_torn_header(self):
        source = self.copy("clean/seg-demo-0")
        with open(f"{source}/{self.ACTIVE}", "ab") as file:
            file.write(kafka_batch.batch(4000, [b"never finished"])[:40])
        self.tail_of(self.mount(source), 4000)

    def test_zeros(self):
        source = self.copy("clean/seg-demo-0")
        path = f"{source}/{self.ACTIVE}"
        os.truncate(path, os.path.getsize(path) + 5_000_000)
        self.tail_of(self.mount(source), 4000)


class IndexTest(CopyTest):
    """Indexes are hints: whatever is wrong with them, answers are the same."""

    def check(self, source):
        mount = self.mount(source)
        for record in answer_records("clean", "seg-demo")[::37]:
            self.assertEqual(mount.read(f"offsets/{record['offset']}"), record["value"])
            first = next(r["offset"] for r in answer_records("clean", "seg-demo")
                         if r["ts"] >= record["ts"])
            self.assertEqual(mount.link(f"time/{record['ts']}"), f"../offsets/{first}")

    def each_index(self, source, change):
        for name in os.listdir(source):
            if name.endswith("index"):
                change(os.path.join(source, name))

    def test_missing(self):
        source = self.copy("clean/seg-demo-0")
        self.each_index(source, os.unlink)
        self.check(source)

    def test_empty(self):
        source = self.copy("clean/seg-demo-0")
        self.each_index(source, lambda path: os.truncate(path, 0))
        self.check(source)

    def test_cut_in_an_entry(self):
        source = self.copy("clean/seg-demo-0")
        self.each_index(source, lambda path: os.truncate(path, os.path.getsize(path) - 3))
        self.check(source)

    def test_padded(self):
        source = self.copy("clean/seg-demo-0")
        self.each_index(source, lambda path: os.truncate(path, 10_485_760))
        self.check(source)

    def test_of_another_segment(self):
        source = self.copy("clean/seg-demo-0")
        for kind in ("index", "timeindex"):
            data = read(source, f"00000000000000002010.{kind}")
            for base in (0, 1005, 3015):
                with open(f"{source}/{base:020d}.{kind}", "wb") as file:
                    file.write(data)
        self.check(source)

    def test_garbage(self):
        source = self.copy("clean/seg-demo-0")

        def scramble(path):
            with open(path, "wb") as file:
                file.write(os.urandom(4096))
        self.each_index(source, scramble)
        self.check(source)


class BombTest(CopyTest):
    """A batch that claims to decompress beyond the limit is refused, in bounded memory."""

    def test_a_gigabyte_of_zeros(self):
        import gzip
        source = os.path.join(self.folder, "bomb-0")
        os.mkdir(source)
        value = b"\0" * (300 << 20)
        bomb = gzip.compress(kafka_batch.record(0, value), 1)
        kafka_batch.write_log(source, [
            kafka_batch.batch(0, [b"before"]),
            kafka_batch.batch_of(1, bomb, 1, 1_800_000_000_000, codec=1),
            kafka_batch.batch(2, [b"after"])])
        mount = self.mount(source)
        self.assertEqual(mount.error("offsets/1"), EIO)
        self.assertEqual(mount.read("offsets/0"), b"before")
        self.assertEqual(mount.read("offsets/2"), b"after")
        self.assertLess(mount.memory_kib("VmHWM"), MOST_KIB)
        self.assertTrue(mount.objects("problems.jsonl"))

    def test_the_limit_is_an_option(self):
        source = os.path.join(self.folder, "bomb-0")
        os.mkdir(source)
        kafka_batch.write_log(source, [kafka_batch.batch(0, [b"x" * 3_000_000], codec=1)])
        self.assertEqual(len(self.mount(source).read("offsets/0")), 3_000_000)
        small = self.mount(source, options=["max_decompressed=1M"])
        self.assertEqual(small.error("offsets/0"), EIO)

    def test_lengths_that_cannot_be(self):
        source = os.path.join(self.folder, "odd-0")
        os.mkdir(source)
        good = kafka_batch.batch(0, [b"good"])
        for i, length in enumerate((-1, -2**31, 2**31 - 1, 0, 1, 48)):
            huge = bytearray(kafka_batch.batch(1, [b"bad"]))
            huge[8:12] = (length & 0xFFFFFFFF).to_bytes(4, "big")
            kafka_batch.write_log(source, [good, bytes(huge), kafka_batch.batch(2, [b"x"])])
            with self.subTest(length=length, case=i):
                mount = self.mount(source)
                self.assertEqual(mount.read("offsets/0"), b"good")
                self.assertIn(mount.error("offsets/1"), (EIO, ENOENT))
                self.assertLess(mount.memory_kib("VmHWM"), MOST_KIB)

    def test_a_count_that_is_a_lie(self):
        source = os.path.join(self.folder, "odd-0")
        os.mkdir(source)
        lie = kafka_batch.batch_of(0, kafka_batch.record(0, b"one"), 1_000_000, 1_800_000_000_000)
        kafka_batch.write_log(source, [lie])
        mount = self.mount(source)
        self.assertIn(mount.error("offsets/5"), (EIO, ENOENT))
        self.assertLess(mount.memory_kib("VmHWM"), MOST_KIB)


class AlienTest(CopyTest):
    """What is no part of a log is skipped and named; nothing of it is followed or opened."""

    def test_alien_files_and_directories(self):
        source = self.copy("clean", "source")
        for name in ("lost+found", "not a partition", "orders", "-0", "x-y"):
            os.makedirs(f"{source}/{name}")
        for name in ("notes.txt", "orders-0/notes.txt", "orders-0/00000000000000000000.log.bak",
                     "orders-0/0.log", "orders-0/00000000000000000500.index"):
            with open(f"{source}/{name}", "wb") as file:
                file.write(b"alien")
        mount = self.mount(source)
        names = mount.names()
        for name in ("lost+found", "not a partition", "x-y", "notes.txt"):
            self.assertNotIn(name, names)
        self.assertEqual(len(mount.names("orders-0/offsets")), 500)

    def test_an_empty_partition_directory_and_an_empty_log(self):
        source = self.copy("clean", "source")
        os.mkdir(f"{source}/empty-0")
        os.mkdir(f"{source}/bare-0")
        open(f"{source}/bare-0/{LOG}", "wb").close()
        mount = self.mount(source)
        self.assertEqual(mount.read("bare-0/records.values"), b"")
        self.assertEqual(mount.names("bare-0/offsets"), [])
        self.assertIn("empty-0", mount.text("problems.jsonl") + " ".join(mount.names()))
        self.assertEqual(mount.read("orders-0/offsets/1"), answer_records("clean", "orders")[1]["value"])

    def test_a_log_full_of_garbage(self):
        source = self.copy("clean", "source")
        os.mkdir(f"{source}/garbage-0")
        with open(f"{source}/garbage-0/{LOG}", "wb") as file:
            file.write(os.urandom(1 << 20))
        mount = self.mount(source)
        run("find", mount / "garbage-0", check=False)
        run("cat", mount / "garbage-0/records.values", check=False)
        for n in (0, 1, 5):
            self.assertIn(mount.error(f"garbage-0/offsets/{n}"), (EIO, ENOENT))
        self.assertEqual(mount.read("orders-0/offsets/1"), answer_records("clean", "orders")[1]["value"])

    def test_links_pipes_sockets_and_devices_are_left_alone(self):
        source = self.copy("clean", "source")
        secret = os.path.join(self.folder, "secret-0")
        os.mkdir(secret)
        kafka_batch.write_log(secret, [kafka_batch.batch(0, [b"secret"])])
        os.symlink(secret, f"{source}/linked-0")
        os.mkdir(f"{source}/odd-0")
        os.symlink(f"{secret}/{LOG}", f"{source}/odd-0/{LOG}")
        os.mkdir(f"{source}/pipe-0")
        os.mkfifo(f"{source}/pipe-0/{LOG}")
        os.mkdir(f"{source}/socket-0")
        here = os.getcwd()
        with socket.socket(socket.AF_UNIX) as server:
            os.chdir(f"{source}/socket-0")
            server.bind(LOG)
            os.chdir(here)
        os.unlink(f"{source}/replication-offset-checkpoint")
        os.mkfifo(f"{source}/replication-offset-checkpoint")
        os.unlink(f"{source}/orders-0/partition.metadata")
        os.mkfifo(f"{source}/orders-0/partition.metadata")
        mount = self.mount(source)
        for name in ("linked-0", "odd-0", "pipe-0", "socket-0"):
            self.assertEqual(error_of(read, mount / f"{name}/offsets/0"), ENOENT, name)
            shown = run("cat", mount / f"{name}/records.values", check=False).stdout
            self.assertEqual(shown, b"", name)
        problems = mount.text("problems.jsonl")
        for name in ("linked-0", "odd-0", "pipe-0", "socket-0"):
            self.assertIn(name, problems)
        self.assertEqual(mount.read("orders-0/offsets/1"), answer_records("clean", "orders")[1]["value"])

    def test_checkpoints_that_are_none(self):
        for content in (b"", b"garbage", b"0\n99999999999\n", b"1\n1\norders 0 5\n", os.urandom(5000)):
            source = self.copy("clean", "source")
            for name in os.listdir(source):
                if name.endswith("-checkpoint"):
                    with open(f"{source}/{name}", "wb") as file:
                        file.write(content)
            from mounted import Mount
            with Mount(source) as mount:
                self.assertEqual(mount.read("orders-0/offsets/1"),
                                 answer_records("clean", "orders")[1]["value"])
                self.assertEqual(mount.text("orders-0/state/log_end_offset"), "500\n")
            run("rm", "-rf", source)


class UnreadableTest(CopyTest):
    """What the mount's own user may not read: root without the right to read everything is one."""

    PLAIN = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.getuid() == 0 else ()

    def check_the_rest(self, mount):
        self.assertEqual(mount.read("shapes-0/offsets/0"), answer_records("clean", "shapes")[0]["value"])
        self.assertEqual(mount.read("seg-demo-0/records.values").count(b"\n"), 4000)

    def test_an_unreadable_partition_is_named(self):
        source = self.copy("clean", "source")
        os.chmod(f"{source}/orders-0", 0)
        self.addCleanup(os.chmod, f"{source}/orders-0", 0o755)
        mount = self.mount(source, wrapper=self.PLAIN)
        self.check_the_rest(mount)
        self.assertNotEqual(error_of(read, mount / "orders-0/offsets/0"), 0)
        self.assertIn("orders-0", mount.text("problems.jsonl"))

    def test_an_unreadable_log_is_named(self):
        source = self.copy("clean", "source")
        os.chmod(f"{source}/orders-0/{LOG}", 0)
        mount = self.mount(source, wrapper=self.PLAIN)
        self.check_the_rest(mount)
        self.assertNotEqual(error_of(read, mount / "orders-0/offsets/0"), 0)
        self.assertIn("orders-0", mount.text("problems.jsonl"))

    def test_an_unreadable_index_is_done_without(self):
        source = self.copy("clean", "source")
        for name in os.listdir(f"{source}/seg-demo-0"):
            if name.endswith("index"):
                os.chmod(f"{source}/seg-demo-0/{name}", 0)
        mount = self.mount(source, wrapper=self.PLAIN)
        self.check_the_rest(mount)
        for record in answer_records("clean", "seg-demo")[::100]:
            self.assertEqual(mount.read(f"seg-demo-0/offsets/{record['offset']}"), record["value"])


class FewFilesTest(CopyTest):
    """RLIMIT_NOFILE 256 is enough for any number of segments and partitions."""

    @staticmethod
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    def partitions(self, count):
        source = os.path.join(self.folder, "many")
        for n in range(count):
            os.makedirs(f"{source}/topic-{n}")
            kafka_batch.write_log(f"{source}/topic-{n}", [kafka_batch.batch(0, [b"value %d" % n])])
        return source

    def test_many_segments(self):
        source = os.path.join(self.folder, "many-0")
        os.mkdir(source)
        for n in range(2000):
            kafka_batch.write_log(source, [kafka_batch.batch(n, [b"value %d" % n])], n)
        mount = self.mount(source, limits=self.few)
        for n in range(2000):
            self.assertEqual(mount.read(f"offsets/{n}"), b"value %d" % n)
        self.assertLess(mount.open_files(), 256)
        self.assertEqual(mount.read("records.values").count(b"\n"), 2000)
        self.assertEqual(mount.complaints(), [])

    def test_many_partitions(self):
        source = self.partitions(600)
        mount = self.mount(source, limits=self.few)
        for n in range(600):
            self.assertEqual(mount.read(f"topic-{n}/offsets/0"), b"value %d" % n)
        self.assertEqual(mount.complaints(), [])

    def test_as_many_files_may_be_open_as_the_hard_limit_lets(self):
        source = self.partitions(100)
        mount = self.mount(
            source, limits=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 1024)))
        with contextlib.ExitStack() as held:
            for n in range(100):
                held.enter_context(open(mount / f"topic-{n}/active/records.values", "rb"))
            self.assertEqual(mount.read("topic-0/offsets/0"), b"value 0")
        self.assertEqual(mount.complaints(), [])

    def test_without_descriptors_nothing_is_said_not_to_be_there(self):
        source = self.partitions(100)
        mount = self.mount(
            source, limits=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        names = mount.names()
        with contextlib.ExitStack() as held:
            def hold_all():
                for n in range(99):
                    held.enter_context(open(mount / f"topic-{n}/active/records.values", "rb"))
            self.assertEqual(error_of(hold_all), errno.EMFILE)
            for below in ("offsets/0", "active", "last", "records.tsv", "follow/0.tsv"):
                self.assertEqual(mount.error(f"topic-99/{below}"), errno.EMFILE, below)
            for below in ("offsets", "segments"):
                self.assertEqual(error_of(mount.names, f"topic-99/{below}"), errno.EMFILE, below)
            self.assertEqual(mount.names(), names)
        wait_until(lambda: mount.error("topic-99/offsets/0") == 0, "a descriptor")
        self.assertEqual(mount.read("topic-99/records.values"), b"value 99\n")


if __name__ == "__main__":
    unittest.main()
