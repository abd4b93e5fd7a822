"""Streams: every suffix, ranges, whole partitions and segments, read by every tool in every way."""

import json
import mmap
import os
import random
import subprocess
import time
import unittest

import kafka_batch
from mounted import (CopyTest, ENOENT, FixtureTests, MountedTest, SAMPLE, answer_dump, answer_kcat,
                     answer_records, error_of, fixture, is_plain, is_text, output, read, run, wait_until)


def values_of(records):
    return b"".join((r["value"] or b"") + b"\n" for r in records)


def keys_of(records):
    return b"".join((r["key"] or b"") + b"\n" for r in records)


def copy_text(data):
    """A field of PostgreSQL's COPY text form."""
    if data is None:
        return b"\\N"
    out = bytearray()
    i = 0
    while i < len(data):
        for length in (1, 2, 3, 4):
            piece = data[i:i + length]
            try:
                piece.decode("utf-8")
            except UnicodeDecodeError:
                continue
            out += {b"\t": b"\\t", b"\n": b"\\n", b"\r": b"\\r", b"\\": b"\\\\"}.get(piece, piece)
            i += length
            break
        else:
            out += b"\\x%02x" % data[i]
            i += 1
    return bytes(out)


def table_of(records):
    rows = [b"offset\ttimestamp\tkey\tvalue\n"]
    for r in records:
        time = b"%d" % r["ts"] if r["ts"] >= 0 else b"\\N"
        rows.append(b"%d\t%s\t%s\t%s\n" % (r["offset"], time, copy_text(r["key"]),
                                           copy_text(r["value"])))
    return b"".join(rows)


def segments_of(source, partition):
    """Base offsets of the live segments."""
    files = os.listdir(os.path.join(fixture(source), partition))
    return sorted(int(f[:20]) for f in files if f.endswith(".log"))


class StreamTests(FixtureTests):
    """Every stream of every topic of one fixture."""

    def test_values_keys_and_tables_of_the_partition(self):
        for partition, _, records in self.each_topic():
            self.assertEqual(self.mount.read(f"{partition}/records.values"), values_of(records))
            self.assertEqual(self.mount.read(f"{partition}/records.keys"), keys_of(records))
            shown = self.mount.read(f"{partition}/records.tsv")
            # How a byte that is no UTF-8 is cut from its neighbours is compared after undoing it.
            if all(is_text(r["key"]) and is_text(r["value"]) for r in records):
                self.assertEqual(shown, table_of(records))
            else:
                self.assertEqual(len(shown.splitlines()), len(records) + 1)

    def test_lines_of_the_partition(self):
        for partition, topic, records in self.each_topic():
            lines = self.mount.lines(f"{partition}/records.jsonl")
            self.assertEqual(len(lines), len(records))
            for record, line in zip(records, lines):
                shown = json.loads(line)
                self.assertEqual((shown["topic"], shown["offset"], shown.get("ts", -1)),
                                 (topic, record["offset"], record["ts"]))
                if is_text(record["value"]):
                    value = None if record["value"] is None else record["value"].decode()
                    self.assertEqual(shown["payload"], value)

    def test_segments_hold_their_part_of_the_partition(self):
        for partition, _, records in self.each_topic():
            bases = segments_of(self.name, partition)
            start = int(self.mount.text(f"{partition}/state/log_start_offset"))
            for base, end in zip(bases, bases[1:] + [2**63]):
                inside = [r for r in records if base <= r["offset"] < end]
                path = f"{partition}/segments/{base:020d}"
                if base >= start:
                    self.assertEqual(self.mount.read(f"{path}/records.values"), values_of(inside))
                    self.assertEqual(self.mount.read(f"{path}/records.keys"), keys_of(inside))
                else:
                    # The file as it lies: what was deleted below the log start is still in it.
                    shown = self.mount.read(f"{path}/records.values")
                    self.assertTrue(shown.endswith(values_of(inside)))

    def test_sizes_are_exact_once_opened(self):
        for partition, _, _ in self.each_topic():
            for base in segments_of(self.name, partition):
                for suffix in ("jsonl", "values", "keys", "tsv"):
                    path = f"{partition}/segments/{base:020d}/records.{suffix}"
                    data = self.mount.read(path)
                    self.assertEqual(self.mount.stat(path).st_size, len(data), path)

    def test_ranges(self):
        rng = random.Random(3)
        for partition, _, records in self.each_topic():
            offsets = [r["offset"] for r in records]
            if not offsets:
                continue
            for _ in range(max(1, 12 // SAMPLE)):
                a, b = sorted((rng.randint(0, offsets[-1] + 3), rng.randint(0, offsets[-1] + 3)))
                if b < offsets[0] or a > offsets[-1]:
                    continue
                inside = [r for r in records if a <= r["offset"] <= b]
                path = f"{partition}/offsets/{a}..{b}"
                self.assertEqual(self.mount.read(f"{path}.values"), values_of(inside), path)
                self.assertEqual(self.mount.read(f"{path}.keys"), keys_of(inside), path)
                self.assertEqual([o["offset"] for o in self.mount.objects(f"{path}.jsonl")],
                                 [r["offset"] for r in inside])

    def test_ranges_whose_ends_are_words(self):
        for partition, _, records in self.each_topic():
            if len(records) < 10:
                continue
            base = f"{partition}/offsets"
            middle = records[len(records) // 2]["offset"]
            self.assertEqual(self.mount.read(f"{base}/first..last.values"), values_of(records))
            self.assertEqual(self.mount.read(f"{base}/{middle}..last.values"),
                             values_of([r for r in records if r["offset"] >= middle]))
            self.assertEqual(self.mount.read(f"{base}/first..{middle}.values"),
                             values_of([r for r in records if r["offset"] <= middle]))
            self.assertTrue(values_of(records).endswith(self.mount.read(f"{base}/last-3.values")))
            self.assertTrue(values_of(records).startswith(self.mount.read(f"{base}/first-3.values")))


class CleanTest(StreamTests, MountedTest):
    name = "clean"

    def test_lines_are_kcats_byte_for_byte(self):
        for partition, topic, records in self.each_topic():
            expected = answer_kcat("clean", topic)
            lines = self.mount.lines(f"{partition}/records.jsonl")
            self.assertEqual(len(lines), len(expected))
            for record, line, wanted in zip(records, lines, expected):
                if is_plain(record):
                    self.assertEqual(line, wanted)
                else:
                    self.assertIn(b'_encoding":"base64"', line)

    def test_a_range_has_a_suffix_and_something_in_it(self):
        offsets = self.mount / "orders-0/offsets"
        for name in ("1..2", "5..4.jsonl", "600..700.jsonl", "500..600.values", "1..2.json", "1...2.tsv",
                     "01..2.jsonl", "1..2..3.jsonl", "a..b.jsonl", "-1..2.jsonl", "1..2.txt"):
            self.assertEqual(error_of(read, f"{offsets}/{name}"), ENOENT, name)

    def test_a_range_of_gaps_is_an_empty_file(self):
        offsets = {r["offset"] for r in answer_records("clean", "compacted")}
        gap = next(n for n in range(max(offsets)) if n not in offsets)
        for suffix in ("jsonl", "values", "keys"):
            self.assertEqual(self.mount.read(f"compacted-0/offsets/{gap}..{gap}.{suffix}"), b"")

    def test_ranges_are_clipped_to_the_log(self):
        records = answer_records("clean", "trimmed")
        self.assertEqual(self.mount.read("trimmed-0/offsets/0..1502.values"),
                         values_of([r for r in records if r["offset"] <= 1502]))
        self.assertEqual(self.mount.error("trimmed-0/offsets/0..1499.values"), ENOENT)
        self.assertEqual(self.mount.read(f"trimmed-0/offsets/2990..{2**62}.values"),
                         values_of([r for r in records if r["offset"] >= 2990]))

    def test_an_empty_partition_has_empty_streams(self):
        for suffix in ("jsonl", "values", "keys"):
            self.assertEqual(self.mount.read(f"retained-0/records.{suffix}"), b"")
        self.assertEqual(self.mount.read("retained-0/records.tsv"), b"offset\ttimestamp\tkey\tvalue\n")

    def test_control_batches_are_no_lines(self):
        bases = segments_of("clean", "txn-0")
        shown = []
        for base in bases:
            shown += [o["offset"] for o in
                      self.mount.objects(f"txn-0/segments/{base:020d}/records.jsonl")]
        self.assertEqual(shown, [r["offset"] for r in answer_records("clean", "txn")])


    def test_root_reads_further_ahead(self):
        device = os.stat(self.mount.path).st_dev
        setting = f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb"
        with open(setting, encoding="utf-8") as file:
            self.assertEqual(int(file.read()), 1024 if os.access(setting, os.W_OK) else 128)


class KilledTest(StreamTests, MountedTest):
    name = "killed"


class Magic0Test(StreamTests, MountedTest):
    name = "v0"


class Magic1Test(StreamTests, MountedTest):
    name = "v1"


class Magic1And2Test(StreamTests, MountedTest):
    name = "v1v2"


class ToolTest(MountedTest):
    """Each tool on a fresh mount, where nothing was opened yet and sizes are estimates."""

    source = "clean"
    STREAM = "segments/00000000000000001005/records.values"

    @classmethod
    def setUpClass(cls):
        cls.wanted = values_of([r for r in answer_records("clean", "seg-demo")
                                if 1005 <= r["offset"] < 2010])
        super().setUpClass()

    def fresh(self):
        """A stream that no test opened before: its size is still unknown."""
        from mounted import Mount
        mount = Mount(fixture("clean/seg-demo-0"))
        self.addCleanup(mount.close)
        self.assertGreater(os.stat(mount / self.STREAM).st_size, 0)
        return mount / self.STREAM

    def test_whole_reads(self):
        for tool in (["cat"], ["tac"], ["dd", "status=none", "bs=1M", "if={}"], ["head", "-n", "-0"],
                     ["tail", "-n", "+1"], ["sort"], ["sed", ""], ["awk", "1"], ["grep", ""]):
            path = self.fresh()
            command = [part.replace("{}", path) for part in tool]
            if not any("{}" in part for part in tool):
                command.append(path)
            wanted = self.wanted
            if tool[0] == "tac":
                wanted = b"".join(reversed(wanted.splitlines(keepends=True)))
            elif tool[0] == "sort":
                wanted = b"".join(sorted(wanted.splitlines(keepends=True)))
                shown = output(*command, env={"LC_ALL": "C", "PATH": os.environ["PATH"]})
                self.assertEqual(shown, wanted, tool)
                continue
            self.assertEqual(output(*command), wanted, tool)

    def test_counts(self):
        size, lines = len(self.wanted), self.wanted.count(b"\n")
        self.assertEqual(int(output("wc", "-c", self.fresh()).split()[0]), size)
        self.assertEqual(int(output("wc", "-l", self.fresh()).split()[0]), lines)
        self.assertEqual(int(output("grep", "-c", "", self.fresh())), lines)
        path = self.fresh()
        read(path)
        self.assertEqual(int(output("stat", "-c", "%s", path)), size)

    def test_ends(self):
        lines = self.wanted.splitlines(keepends=True)
        self.assertEqual(output("tail", "-n", "5", self.fresh()), b"".join(lines[-5:]))
        self.assertEqual(output("tail", "-c", "100", self.fresh()), self.wanted[-100:])
        self.assertEqual(output("head", "-n", "5", self.fresh()), b"".join(lines[:5]))
        self.assertEqual(output("head", "-c", "-1000", self.fresh()), self.wanted[:-1000])

    def test_copies(self):
        import hashlib
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            for i, tool in enumerate((["cp"], ["cp", "--reflink=auto"], ["rsync", "-a"])):
                target = f"{folder}/{i}"
                run(*tool, self.fresh(), target)
                self.assertEqual(read(target), self.wanted, tool)
            path = self.fresh()
            archive = f"{folder}/tar"
            run("tar", "-cf", archive, "-C", os.path.dirname(path), "records.values")
            self.assertEqual(output("tar", "-xOf", archive), self.wanted)
            self.assertEqual(output("md5sum", self.fresh()).split()[0].decode(),
                             hashlib.md5(self.wanted).hexdigest())

    def test_less(self):
        path = self.fresh()
        shown = output("less", path, env={"TERM": "dumb", "PATH": os.environ["PATH"]})
        self.assertEqual(shown, self.wanted)

    def test_mmap(self):
        with open(self.fresh(), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            self.assertEqual(size, len(self.wanted))
            with mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as view:
                self.assertEqual(view[:], self.wanted)
            with mmap.mmap(file.fileno(), size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as view:
                self.assertEqual(view[-1000:], self.wanted[-1000:])

    def test_sendfile(self):
        import tempfile
        with open(self.fresh(), "rb") as file, tempfile.TemporaryFile() as out:
            sent, size = 0, len(self.wanted) + 5000
            while piece := os.sendfile(out.fileno(), file.fileno(), sent, size - sent):
                sent += piece
            out.seek(0)
            self.assertEqual(out.read(), self.wanted)

    def test_reads_at_any_place_in_any_order(self):
        rng = random.Random(7)
        with open(self.fresh(), "rb") as file:
            for _ in range(2000 // SAMPLE):
                at = rng.randrange(len(self.wanted) + 10)
                size = rng.choice((1, 10, 4096, 5000, 200_000))
                self.assertEqual(os.pread(file.fileno(), size, at), self.wanted[at:at + size])

    def test_jq(self):
        path = os.path.join(os.path.dirname(self.fresh()), "records.jsonl")
        offsets = [int(line) for line in output("jq", ".offset", path).split()]
        self.assertEqual(offsets, list(range(1005, 2010)))

    def test_split_and_shuf(self):
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            run("split", "-n", "3", self.fresh(), f"{folder}/part")
            parts = b"".join(read(folder, name) for name in sorted(os.listdir(folder)))
            self.assertEqual(parts, self.wanted)
        shuffled = output("shuf", self.fresh()).splitlines()
        self.assertEqual(sorted(shuffled), sorted(self.wanted.splitlines()))

    def test_whole_partition_is_read_to_its_end_by_every_tool(self):
        wanted = values_of(answer_records("clean", "seg-demo"))
        for tool in (["cat"], ["head", "-c", "1000000000"], ["tail", "-n", "+1"], ["grep", ""]):
            self.assertEqual(output(*tool, self.mount / "seg-demo-0/records.values"), wanted, tool)
        lines = wanted.splitlines(keepends=True)
        self.assertEqual(output("tail", "-n", "2", self.mount / "seg-demo-0/records.values"),
                         b"".join(lines[-2:]))
        self.assertEqual(int(output("wc", "-c", self.mount / "seg-demo-0/records.values").split()[0]),
                         len(wanted))


class BatchTest(MountedTest):
    """batches.jsonl against kafka-dump-log."""

    source = "clean"

    def test_every_batch_as_kafka_decodes_it(self):
        checked = 0
        for partition in sorted(os.listdir(fixture("clean"))):
            if not os.path.isdir(os.path.join(fixture("clean"), partition)):
                continue
            for base in segments_of("clean", partition):
                dump = answer_dump("clean", partition, f"{base:020d}.log")
                if dump is None:
                    continue
                shown = self.mount.objects(f"{partition}/segments/{base:020d}/batches.jsonl")
                self.assertEqual(len(shown), len(dump), partition)
                for batch, told in zip(shown, dump):
                    self.check(batch, told)
                    checked += 1
        self.assertGreater(checked, 2000)

    def check(self, batch, told):
        for field, name in (("base_offset", "baseOffset"), ("last_offset", "lastOffset"),
                            ("position", "position"), ("size", "size"), ("magic", "magic"),
                            ("producer_id", "producerId"), ("producer_epoch", "producerEpoch"),
                            ("base_sequence", "baseSequence"), ("crc", "crc"),
                            ("leader_epoch", "partitionLeaderEpoch"), ("records_count", "count"),
                            ("last_sequence", "lastSequence")):
            self.assertEqual(str(batch[field]), told[name], (field, batch, told))
        self.assertEqual(batch["codec"], told["compresscodec"], (batch, told))
        self.assertEqual(batch["transactional"], told["isTransactional"] == "true")
        self.assertEqual(batch["control"], told["isControl"] == "true")
        self.assertIs(batch["crc_valid"], True)
        time = told.get("CreateTime", told.get("LogAppendTime"))
        self.assertEqual(str(batch["max_timestamp"]), time)
        horizon = batch["delete_horizon"]
        self.assertEqual("OptionalLong.empty" if horizon is None else f"OptionalLong[{horizon}]",
                         told["deleteHorizonMs"])


class ScanTest(CopyTest):
    """Opens that take their time: segments of 27 megabytes that decompress to 1,500."""

    BASES = range(0, 16_000_000, 4_000_000)

    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.folder, "slow-0")
        os.mkdir(self.source)
        template = kafka_batch.batch(0, [b"%d" % n * 500 for n in range(250)], codec=1)
        self.batches = 12000
        for base in self.BASES:
            kafka_batch.write_log(
                self.source, kafka_batch.repeated(template, 250, self.batches, base), base)
        self.served = self.mount(self.source)

    def scans(self):
        stats = dict(line.split() for line in self.served.text("stats").splitlines())
        return int(stats["scans"])

    def start(self, below):
        reader = subprocess.Popen(["cat", self.served / below], stdout=subprocess.PIPE)
        self.addCleanup(reader.wait)
        self.addCleanup(reader.stdout.close)
        self.addCleanup(reader.kill)
        return reader

    def was_interrupted(self, base):
        """Whether the scan of a reader that was killed has to be done again. It need not: the kill
        may come too late."""
        path = f"segments/{base:020d}/records.keys"
        before = self.scans()
        reader = self.start(path)
        wait_until(lambda: self.scans() == before + 1, "the scan's begin")
        reader.kill()
        reader.wait()
        self.assertEqual(self.served.read(path), b"\n" * 250 * self.batches)
        return self.scans() == before + 2

    def test_an_open_ends_with_its_reader_and_the_scan_with_it(self):
        self.assertTrue(any(self.was_interrupted(base) for base in self.BASES))
        self.assertEqual(self.served.read("offsets/4000005"), b"5" * 500)

    def test_many_slow_opens_hold_up_nobody(self):
        readers = [self.start(f"segments/{base:020d}/records.keys")
                   for base in self.BASES for _ in range(3)]
        for n in range(0, 250, 25):
            self.assertEqual(self.served.read(f"offsets/{n}"), b"%d" % n * 500)
        self.assertEqual(len(self.served.names("segments")), len(self.BASES))
        os.statvfs(self.served.path)
        self.assertTrue(any(reader.poll() is None for reader in readers))


if __name__ == "__main__":
    unittest.main()
