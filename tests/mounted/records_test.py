"""offsets/N and its companions, against what a consumer and kcat read of the same logs."""

import base64
import json
import os
import unittest

from mounted import (ENOENT, FixtureTests, MountedTest, answer_kcat, answer_offsets, answer_records,
                     error_of, is_plain, is_text, output, read, sampled)

TYPES = {"CreateTime": "create", "LogAppendTime": "logappend", "NoTimestampType": None}


def text_or_base64(data):
    """A key or payload as JSON shows it, and the encoding it names."""
    if is_text(data):
        return (None if data is None else data.decode()), None
    return base64.b64encode(data).decode(), "base64"


class RecordTests(FixtureTests):
    """Every record of every topic of one fixture."""

    def test_the_plain_name_holds_exactly_the_value(self):
        for partition, _, records in self.each_topic():
            for record in sampled(records):
                path = self.mount / f"{partition}/offsets/{record['offset']}"
                value = record["value"] or b""
                self.assertEqual(read(path), value, path)

    def test_size_and_time_are_the_records(self):
        for partition, _, records in self.each_topic():
            for record in sampled(records):
                path = f"{partition}/offsets/{record['offset']}"
                stat = self.mount.stat(path)
                self.assertEqual(stat.st_size, len(record["value"] or b""), path)
                self.assertEqual(stat.st_blocks, (stat.st_size + 511) // 512, path)
                self.assertEqual(stat.st_mode & 0o222, 0, path)
                if record["ts"] >= 0:
                    self.assertEqual(stat.st_mtime_ns, record["ts"] * 1_000_000, path)

    def test_the_key_file_holds_exactly_the_key(self):
        for partition, _, records in self.each_topic():
            for record in sampled(records):
                path = f"{partition}/offsets/{record['offset']}.key"
                self.assertEqual(self.mount.read(path), record["key"] or b"", path)
                self.assertEqual(self.mount.stat(path).st_size, len(record["key"] or b""), path)

    def test_the_json_file_holds_the_whole_record(self):
        for partition, topic, records in self.each_topic():
            for record in sampled(records):
                path = f"{partition}/offsets/{record['offset']}.json"
                data = self.mount.read(path)
                self.assertEqual(self.mount.stat(path).st_size, len(data), path)
                self.assertTrue(data.endswith(b"}\n") and data.count(b"\n") == 1, path)
                self.check_object(json.loads(data), topic, record, path)

    def check_object(self, shown, topic, record, path):
        self.assertEqual(shown["topic"], topic, path)
        self.assertEqual(shown["partition"], 0, path)
        self.assertEqual(shown["offset"], record["offset"], path)
        # As kcat, which leaves both out where there is no timestamp.
        self.assertEqual(shown.get("ts", -1), record["ts"], path)
        self.assertEqual(shown.get("tstype"), TYPES[record["tstype"]], path)
        for field, data in (("key", record["key"]), ("payload", record["value"])):
            text, encoding = text_or_base64(data)
            self.assertEqual(shown[field], text, path)
            self.assertEqual(shown.get(f"{field}_encoding"), encoding, path)
        for field in ("segment", "position", "codec", "batch_base_offset", "batch_last_offset",
                      "crc_valid"):
            self.assertIn(field, shown, path)
        self.assertIs(shown["crc_valid"], True, path)
        self.assertLessEqual(shown["batch_base_offset"], record["offset"], path)
        self.assertGreaterEqual(shown["batch_last_offset"], record["offset"], path)

    def test_nothing_lies_outside_of_the_log_and_in_its_gaps(self):
        for partition, topic, records in self.each_topic():
            offsets = {record["offset"] for record in records}
            first = min(offsets, default=0)
            last = max(offsets, default=0)
            gaps = sampled(n for n in range(first, last) if n not in offsets)
            for n in [*gaps, last + 1000, 2**62]:
                self.assertEqual(self.mount.error(f"{partition}/offsets/{n}"), ENOENT, n)
                self.assertNotEqual(self.mount.lookup(f"{partition}/offsets/{n}.lookup")["result"],
                                    "present", (topic, n))
            for n in range(max(0, first - 3), first):
                self.assertEqual(self.mount.error(f"{partition}/offsets/{n}"), ENOENT, n)

    def test_lookup_tells_how_a_record_was_found(self):
        for partition, topic, records in self.each_topic():
            for record in sampled(records)[::7]:
                told = self.mount.lookup(f"{partition}/offsets/{record['offset']}.lookup")
                self.assertEqual(list(told)[0], "result")
                self.assertEqual(told["result"], "present", (topic, record["offset"]))
                for field in ("segment", "batches_scanned", "position", "next", "reason"):
                    self.assertIn(field, told)
                self.assertEqual(told["next"], str(record["offset"]))

    def test_seek_leads_to_what_a_consumer_reads_next(self):
        for partition, topic, records in self.each_topic():
            offsets = [record["offset"] for record in records]
            wanted = {}
            for before, offset in zip([-1] + offsets, offsets):
                for n in range(max(before + 1, offset - 5), offset + 1):
                    wanted[n] = offset
            for n in sampled(sorted(wanted)):
                self.assertEqual(self.mount.link(f"{partition}/seek/{n}"),
                                 f"../offsets/{wanted[n]}", (topic, n))
                self.assertEqual(self.mount.link(f"{partition}/seek/{n}.json"),
                                 f"../offsets/{wanted[n]}.json", (topic, n))

    def test_first_and_last(self):
        for partition, _, records in self.each_topic():
            for link, index in (("first", 0), ("last", -1)):
                if records:
                    offset = records[index]["offset"]
                    self.assertEqual(self.mount.link(f"{partition}/{link}"), f"offsets/{offset}")
                    self.assertEqual(self.mount.link(f"{partition}/{link}.json"),
                                     f"offsets/{offset}.json")
                    self.assertEqual(self.mount.read(f"{partition}/{link}"),
                                     records[index]["value"] or b"")
                else:
                    self.assertEqual(self.mount.error(f"{partition}/{link}"), ENOENT)

    def test_the_directory_lists_the_records_in_offset_order(self):
        for partition, _, records in self.each_topic():
            names = output("ls", "-f", self.mount / f"{partition}/offsets").decode().split()
            names = [name for name in names if name not in (".", "..")]
            self.assertEqual(names, [str(record["offset"]) for record in records])

    def test_the_logs_ends_are_those_a_client_is_told(self):
        for partition, topic, _ in self.each_topic():
            if self.name.startswith("v"):
                continue
            told = answer_offsets(self.name, topic)
            self.assertEqual(self.mount.text(f"{partition}/state/log_start_offset"),
                             f"{told['earliest']}\n")
            self.assertEqual(self.mount.text(f"{partition}/state/log_end_offset"),
                             f"{told['latest']}\n")


class CleanTest(RecordTests, MountedTest):
    name = "clean"

    def test_the_json_begins_as_kcats_line(self):
        for partition, topic, records in self.each_topic():
            for record, line in sampled(zip(records, answer_kcat("clean", topic))):
                if not is_plain(record):
                    continue
                shown = self.mount.read(f"{partition}/offsets/{record['offset']}.json")
                self.assertEqual(shown[: len(line) - 2], line[:-2], record["offset"])

    def test_json_tells_null_from_empty(self):
        shapes = {record["offset"]: record for record in answer_records("clean", "shapes")}
        for offset, record in shapes.items():
            shown = self.mount.json(f"shapes-0/offsets/{offset}.json")
            self.assertEqual(shown["payload"] is None, record["value"] is None)
            self.assertEqual(shown["key"] is None, record["key"] is None)

    def test_headers_keep_their_order_and_their_repetitions(self):
        record = next(r for r in answer_records("clean", "shapes") if r["headers"])
        shown = self.mount.json(f"shapes-0/offsets/{record['offset']}.json")
        parts = [part for header in record["headers"] for part in header]
        if shown.get("headers_encoding") == "base64":
            parts = [None if p is None else base64.b64encode(p).decode() for p in parts]
            self.assertEqual(shown["headers"], parts)
        else:
            self.assertEqual(shown["headers"], [None if p is None else p.decode() for p in parts])
        self.assertEqual("headers_encoding" in shown, not is_plain(record))

    def test_attributes(self):
        record = answer_records("clean", "orders")[7]
        path = self.mount / f"orders-0/offsets/{record['offset']}"
        self.assertEqual(os.getxattr(path, "user.kafka.offset"), b"%d" % record["offset"])
        self.assertEqual(os.getxattr(path, "user.kafka.timestamp"), b"%d" % record["ts"])
        self.assertEqual(os.getxattr(path, "user.kafka.key"), record["key"])
        names = os.listxattr(path)
        for name in ("timestamp_type", "segment", "position", "codec"):
            self.assertIn(f"user.kafka.{name}", names)
        shown = output("getfattr", "-d", "--absolute-names", path).decode()
        self.assertIn(f'user.kafka.offset="{record["offset"]}"', shown)
        for other in (".json", ".key"):
            self.assertEqual(os.listxattr(path + other), [])

    def test_attributes_of_headers(self):
        record = next(r for r in answer_records("clean", "shapes") if r["headers"])
        path = self.mount / f"shapes-0/offsets/{record['offset']}"
        last = dict(record["headers"])  # the last of each name wins, as Kafka's lastHeader
        for name, value in last.items():
            attribute = f"user.kafka.header.{name.decode()}"
            if value is None:
                continue
            self.assertEqual(os.getxattr(path, attribute), value, attribute)

    def test_only_canonical_numbers_are_names(self):
        for name in ("01", "+1", "-1", "1 ", " 1", "0x1", "1e3", "", "1.", "1.txt", "1.JSON", "1.json ",
                     "99999999999999999999", "9223372036854775808", "1..", "1.json.json", "a"):
            if name:
                self.assertEqual(error_of(os.lstat, self.mount / f"orders-0/offsets/{name}"), ENOENT,
                                 name)
        # The largest number is a name; only there is no such record.
        self.assertEqual(self.mount.lookup("orders-0/offsets/9223372036854775807.lookup")["result"],
                         "past_log_end")

    def test_lookup_says_why_there_is_nothing(self):
        self.assertEqual(self.mount.lookup("trimmed-0/offsets/3.lookup")["result"], "below_log_start")
        self.assertEqual(self.mount.lookup("trimmed-0/offsets/1499.lookup")["result"],
                         "below_log_start")
        self.assertEqual(self.mount.lookup("trimmed-0/offsets/1500.lookup")["result"], "present")
        self.assertEqual(self.mount.lookup("orders-0/offsets/500.lookup")["result"], "past_log_end")
        markers = self.markers()
        self.assertEqual(self.mount.lookup(f"txn-0/offsets/{markers[0]}.lookup")["result"], "control")
        offsets = {record["offset"] for record in answer_records("clean", "compacted")}
        gap = next(n for n in range(max(offsets)) if n not in offsets)
        told = self.mount.lookup(f"compacted-0/offsets/{gap}.lookup")
        self.assertEqual(told["result"], "compacted")
        self.assertEqual(told["next"], str(min(n for n in offsets if n > gap)))

    def markers(self):
        offsets = {record["offset"] for record in answer_records("clean", "txn")}
        return [n for n in range(answer_offsets("clean", "txn")["latest"]) if n not in offsets]

    def test_markers_are_no_records_but_can_be_looked_at(self):
        for marker in self.markers():
            self.assertEqual(self.mount.error(f"txn-0/offsets/{marker}"), ENOENT)
            shown = self.mount.json(f"txn-0/offsets/{marker}.json")
            self.assertIn(shown["control"]["type"], ("COMMIT", "ABORT"))
            self.assertEqual(shown["control"]["version"], 0)

    def test_jq_reads_a_value_and_grep_finds_one(self):
        orders = answer_records("clean", "orders")
        path = self.mount / "orders-0/offsets"
        self.assertEqual(json.loads(output("jq", ".", f"{path}/3")), json.loads(orders[3]["value"]))
        needle = orders[41]["value"].decode()
        found = output("grep", "-rFl", needle, path).decode().split()
        self.assertIn(f"{path}/41", found)

    def test_listing_survives_telldir_and_seekdir(self):
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
        libc.opendir.argtypes = [ctypes.c_char_p]
        for function in (libc.readdir, libc.telldir, libc.closedir):
            function.argtypes = [ctypes.c_void_p]
        libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
        libc.telldir.restype = ctypes.c_long
        stream = libc.opendir((self.mount / "seg-demo-0/offsets").encode())

        def next_name():
            entry = libc.readdir(stream)
            return ctypes.string_at(entry + 19).decode() if entry else None

        self.addCleanup(libc.closedir, stream)
        names, places = [], []
        while len(names) < 3000:
            places.append(libc.telldir(stream))
            names.append(next_name())
        for i in (2999, 5, 1500, 0):
            libc.seekdir(stream, places[i])
            self.assertEqual(next_name(), names[i])

    def test_the_number_of_a_file_is_the_one_its_directory_says(self):
        for entry in list(os.scandir(self.mount / "orders-0/offsets"))[:50]:
            self.assertEqual(entry.inode(), os.lstat(entry.path).st_ino)
            self.assertTrue(entry.is_file(follow_symlinks=False))

    def test_find_stat_and_cp_agree_on_the_records(self):
        path = self.mount / "we.ird-name_9-7-0/offsets"
        records = answer_records("clean", "we.ird-name_9-7")
        lines = output("find", path, "-type", "f", "-printf", "%f %s\n").decode().splitlines()
        self.assertEqual(sorted(lines), sorted(f"{r['offset']} {len(r['value'])}" for r in records))
        size = output("stat", "-c", "%s", f"{path}/0").decode().strip()
        self.assertEqual(int(size), len(records[0]["value"]))

    def test_nothing_can_be_changed(self):
        import errno
        path = self.mount / "orders-0/offsets/1"
        for call, arguments in ((os.unlink, (path,)), (os.truncate, (path, 0)),
                                (os.chmod, (path, 0o777)), (os.rename, (path, path + "x")),
                                (os.mkdir, (path + "d",)), (os.symlink, ("a", path + "l")),
                                (os.utime, (path, (0, 0))), (os.setxattr, (path, "user.a", b"b")),
                                (os.open, (path, os.O_WRONLY)),
                                (os.open, (path + "n", os.O_CREAT | os.O_WRONLY))):
            self.assertEqual(error_of(call, *arguments), errno.EROFS, call)


class KilledTest(RecordTests, MountedTest):
    name = "killed"


class Magic0Test(RecordTests, MountedTest):
    name = "v0"

    def test_a_record_without_a_time_has_its_files(self):
        log = os.stat(os.path.join(self.mount.sources[0], "old-none-0/00000000000000000000.log"))
        self.assertEqual(self.mount.stat("old-none-0/offsets/0").st_mtime_ns, log.st_mtime_ns)


class Magic1Test(RecordTests, MountedTest):
    name = "v1"


class Magic1And2Test(RecordTests, MountedTest):
    name = "v1v2"


class ControlTest(MountedTest):
    """-o control: transaction markers are records like others."""

    source = "clean"
    options = ("control",)

    def test_markers_have_plain_names_and_are_in_the_streams(self):
        end = answer_offsets("clean", "txn")["latest"]
        names = sorted(int(name) for name in self.mount.names("txn-0/offsets"))
        self.assertEqual(names, list(range(end)))
        lines = self.mount.objects("txn-0/records.jsonl")
        self.assertEqual([line["offset"] for line in lines], list(range(end)))



if __name__ == "__main__":
    unittest.main()
