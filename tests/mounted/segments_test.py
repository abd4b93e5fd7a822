"""segments/BASE/: the decoded files of each segment, against kafka-dump-log."""

import os
import unittest

from mounted import ENOENT, Mount, MountedTest, answer_dump, answer_records, fixture, read

FILES = ["batches.jsonl", "damage.jsonl", "index.tsv", "info.json", "producers.jsonl",
         "records.jsonl", "timeindex.tsv", "txnindex.tsv"]


def partitions(source):
    folder = fixture(source)
    return sorted(name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name)))


def bases(source, partition):
    files = os.listdir(os.path.join(fixture(source), partition))
    return sorted(int(f[:20]) for f in files if f.endswith(".log"))


class SegmentTests:
    name = None

    @classmethod
    def setUpClass(cls):
        cls.source = cls.name
        super().setUpClass()

    def each_segment(self):
        for partition in partitions(self.name):
            for base in bases(self.name, partition):
                yield partition, base, f"{partition}/segments/{base:020d}"

    def test_segments_are_named_as_their_files(self):
        for partition in partitions(self.name):
            names = [n for n in self.mount.names(f"{partition}/segments") if "." not in n]
            self.assertEqual(names, [f"{base:020d}" for base in bases(self.name, partition)])
            self.assertEqual(self.mount.link(f"{partition}/active"),
                             f"segments/{bases(self.name, partition)[-1]:020d}")

    def test_a_segment_lists_its_files(self):
        for _, _, path in self.each_segment():
            self.assertEqual(self.mount.names(path), FILES)

    def test_every_index_entry_as_kafka_decodes_it(self):
        checked = 0
        for partition, base, path in self.each_segment():
            for file, columns in (("index", ("offset", "position")),
                                  ("timeindex", ("timestamp", "offset"))):
                dump = answer_dump(self.name, partition, f"{base:020d}.{file}")
                if dump is None:
                    continue
                rows = self.mount.table(f"{path}/{file}.tsv")
                shown = [tuple(row[column] for column in columns) for row in rows]
                self.assertEqual(shown, [tuple(line[column] for column in columns) for line in dump],
                                 (path, file))
                checked += len(shown)
        if self.name == "clean":
            self.assertGreater(checked, 900)

    def test_aborted_transactions_as_kafka_decodes_them(self):
        for partition, base, path in self.each_segment():
            dump = answer_dump(self.name, partition, f"{base:020d}.txnindex")
            rows = self.mount.table(f"{path}/txnindex.tsv")
            if dump is not None:
                self.assertEqual([[*row.values()] for row in rows],
                                 [[line["producerId"], line["firstOffset"], line["lastOffset"],
                                   line["lastStableOffset"]] for line in dump])

    def test_nothing_is_damaged(self):
        for _, _, path in self.each_segment():
            self.assertEqual(self.mount.read(f"{path}/damage.jsonl"), b"", path)

    def test_info_tells_range_and_size(self):
        for partition, base, path in self.each_segment():
            info = self.mount.json(f"{path}/info.json")
            log = os.path.join(fixture(self.name), partition, f"{base:020d}.log")
            self.assertEqual(info["base_offset"], base, path)
            self.assertIn(os.path.getsize(log), info.values(), (path, info))

    def test_every_file_has_its_size_once_read(self):
        for _, _, path in self.each_segment():
            for file in FILES:
                data = self.mount.read(f"{path}/{file}")
                self.assertEqual(self.mount.stat(f"{path}/{file}").st_size, len(data),
                                 f"{path}/{file}")


class CleanTest(SegmentTests, MountedTest):
    name = "clean"

    def test_producers_are_those_of_the_snapshot(self):
        shown = self.mount.objects("txn-0/segments/00000000000000000011/producers.jsonl")
        self.assertEqual({producer["producer_id"] for producer in shown} & {66, 67}, {66, 67})


class KilledTest(SegmentTests, MountedTest):
    name = "killed"


class Magic0Test(SegmentTests, MountedTest):
    name = "v0"


class Magic1Test(SegmentTests, MountedTest):
    name = "v1"


class Magic1And2Test(SegmentTests, MountedTest):
    name = "v1v2"


class LiveTest(SegmentTests, MountedTest):
    """Copied while its broker ran: `.deleted` files wait for their removal."""

    name = "live"

    def test_deleted_segments_are_shown_aside_and_in_no_other_view(self):
        found = 0
        for partition in partitions("live"):
            files = os.listdir(os.path.join(fixture("live"), partition))
            deleted = sorted(f[:20] for f in files if f.endswith(".log.deleted"))
            shown = [n[:20] for n in self.mount.names(f"{partition}/segments")
                     if n.endswith(".deleted")]
            self.assertEqual(shown, deleted, partition)
            for base in deleted:
                lines = self.mount.objects(f"{partition}/segments/{base}.deleted/records.jsonl")
                self.assertGreaterEqual(lines[0]["offset"], int(base))
                found += 1
        self.assertGreater(found, 0)
        self.assertEqual(self.mount.names("retained-0/offsets"), [])
        self.assertEqual(self.mount.read("retained-0/records.values"), b"")


class PartitionAloneTest(unittest.TestCase):
    """A partition directory given as the source is shown at the root."""

    def test_the_tree_is_the_partitions(self):
        with Mount(fixture("clean/seg-demo-0")) as mount:
            self.assertEqual(mount.text("state/topic"), "seg-demo\n")
            self.assertEqual(mount.text("state/partition"), "0\n")
            values = b"".join(r["value"] + b"\n" for r in answer_records("clean", "seg-demo"))
            self.assertEqual(mount.read("records.values"), values)
            self.assertEqual(mount.error("topics"), ENOENT)
            self.assertEqual(mount.read("problems.jsonl"), b"")
            self.assertEqual(mount.complaints(), [])

    def test_every_partition_alone_reads_as_in_its_log_directory(self):
        for name in ("txn-0", "we.ird-name_9-7-0", "compacted-0", "shapes-0"):
            topic = name[:-2]
            with Mount(fixture(f"clean/{name}")) as mount:
                for record in answer_records("clean", topic)[::50]:
                    self.assertEqual(read(mount / f"offsets/{record['offset']}"),
                                     record["value"] or b"")


if __name__ == "__main__":
    unittest.main()
