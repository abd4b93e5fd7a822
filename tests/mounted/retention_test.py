"""retention/: settings, states, links and suppositions over the brokers' own logs."""

import os
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

from mounted import ENOENT, CopyTest, Mount, fixture

CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/server.properties")
# Half an hour after the fixtures were written, and retention.ms of a year.
NOW = "2026-11-29T23:50:00Z"


def mount_live(*options):
    return Mount(fixture("live"), options=(f"now={NOW}", f"config={CONFIG}", *options))


class LiveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mount = mount_live()
        cls.addClassCleanup(cls.mount.close)

    def policy(self, partition):
        return {row["setting"]: row for row in self.mount.table(f"{partition}/retention/policy.tsv")}

    def test_each_setting_has_its_value_its_origin_and_what_it_overrides(self):
        orders = self.policy("orders-0")
        self.assertEqual(orders["retention.bytes"]["value"], "5242880")
        self.assertEqual(orders["retention.bytes"]["origin"], "topic")
        self.assertEqual(orders["retention.bytes"]["overrides"],
                         "broker log.retention.bytes=2147483648; "
                         "cluster default log.retention.bytes=1073741824; default retention.bytes=-1")
        self.assertEqual(orders["cleanup.policy"]["value"], "compact,delete")
        self.assertEqual(orders["segment.ms"]["origin"], "default")
        other = self.policy("seg-demo-0")
        self.assertEqual(other["retention.bytes"]["value"], "2147483648")
        self.assertEqual(other["file.delete.delay.ms"]["value"], "45000")
        self.assertEqual(other["retention.ms"]["origin"], "server.properties")
        self.assertEqual(self.policy("retained-0")["file.delete.delay.ms"]["value"], "60000")

    def test_the_json_forms_say_the_same(self):
        self.assertEqual(self.mount.text("seg-demo-0/retention/status"),
                         self.mount.text("seg-demo-0/retention/status.tsv"))
        rows = self.mount.table("seg-demo-0/retention/status.tsv")
        status = self.mount.json("seg-demo-0/retention/status.json")
        self.assertEqual([row["segment"] for row in rows], [row["segment"] for row in status["segments"]])
        self.assertEqual([row["state"] for row in rows], ["kept", "kept", "kept", "active"])
        settings = self.mount.json("orders-0/retention/policy.json")["settings"]
        self.assertEqual({entry["setting"]: entry["value"] for entry in settings},
                         {name: row["value"] for name, row in self.policy("orders-0").items()})

    def test_what_was_renamed_is_deleting_and_stays_readable(self):
        names = self.mount.names("retained-0/retention/deleting")
        self.assertEqual(names, [f"{base:020d}.deleted" for base in (0, 1005, 2010, 3015)] + ["status.tsv"])
        records = 0
        for name in names[:-1]:
            path = f"retained-0/retention/deleting/{name}"
            self.assertEqual(self.mount.link(path), f"../../segments/{name}")
            records += len(self.mount.lines(path + "/records.jsonl"))
        self.assertEqual(records, 4000)
        rows = self.mount.table("retained-0/retention/deleting/status.tsv")
        self.assertEqual([row["state"] for row in rows], ["deleting"] * 4)

    def test_the_trimmed_log_starts_inside_its_first_segment(self):
        first = self.mount.table("trimmed-0/retention/status.tsv")[0]
        self.assertLessEqual(int(first["first_offset"]), 1500)
        self.assertGreaterEqual(int(first["last_offset"]), 1500)

    def test_odd_times_are_printed_without_overflow_and_pointed_out(self):
        rows = self.mount.table("odd-times-0/retention/status.tsv")
        future = [row for row in rows if row["held_by"] == "future timestamp"]
        self.assertEqual(len(future), 1)
        self.assertIn("ahead of the clock", future[0]["reason"])

    def test_compacted_topics_delete_nothing_by_time(self):
        for row in self.mount.table("compacted-0/retention/status.tsv"):
            if row["state"] != "deleting":
                self.assertEqual(row["held_by"], "no rule")

    def test_what_if_answers_under_other_settings_and_changes_nothing(self):
        before = self.mount.text("seg-demo-0/retention/status.tsv")
        supposed = self.mount.table("seg-demo-0/retention/what-if/retention.ms=1000")
        self.assertEqual([row["state"] for row in supposed], ["expired"] * 3 + ["active"])
        kept = self.mount.table("seg-demo-0/retention/what-if/retention.bytes=3000000,retention.ms=-1")
        self.assertEqual([row["state"] for row in kept], ["expired", "kept", "kept", "active"])
        self.assertEqual(kept[0]["rule"], "size")
        as_json = self.mount.json("seg-demo-0/retention/what-if/retention.ms=1000.json")
        self.assertEqual(as_json["retention.ms"], 1000)
        self.assertEqual(self.mount.text("seg-demo-0/retention/status.tsv"), before)
        self.assertEqual(self.mount.names("seg-demo-0/retention/what-if"), [])
        for name in ("retention.ms=soon", "no.such.setting=1", "retention.ms"):
            self.assertEqual(self.mount.error(f"seg-demo-0/retention/what-if/{name}"), ENOENT)

    def test_expired_links_to_what_the_next_check_takes(self):
        with mount_live("retention.ms=1000") as mount:
            names = mount.names("seg-demo-0/retention/expired")
            self.assertEqual(names, [f"{base:020d}" for base in (0, 1005, 2010)])
            self.assertEqual(mount.link(f"seg-demo-0/retention/expired/{names[0]}"), f"../../segments/{names[0]}")
            self.assertEqual(mount.lookup("seg-demo-0/retention/next")["segment"], names[0])
            policy = {row["setting"]: row for row in mount.table("seg-demo-0/retention/policy.tsv")}
            self.assertEqual(policy["retention.ms"]["origin"], "command line")

    def test_the_timeline_is_a_picture(self):
        picture = xml.etree.ElementTree.fromstring(self.mount.read("seg-demo-0/retention/timeline.svg"))
        texts = ["".join(node.itertext()) for node in picture.iter() if node.tag.endswith("}text")]
        for base in (0, 1005, 2010, 3015):
            self.assertIn(f"{base:020d}", texts)

    def test_the_log_directory_sums_up_partitions_and_topics(self):
        rows = {row["partition"]: row for row in self.mount.table("retention/status.tsv")}
        self.assertEqual(sorted(rows), sorted(p for p in os.listdir(fixture("live"))
                                              if os.path.isdir(os.path.join(fixture("live"), p))))
        self.assertEqual(rows["retained-0"]["deleting"], "4")
        self.assertEqual(rows["seg-demo-0"]["segments"], "4")
        logs = [os.path.getsize(os.path.join(fixture("live"), "seg-demo-0", name))
                for name in os.listdir(os.path.join(fixture("live"), "seg-demo-0")) if name.endswith(".log")]
        self.assertEqual(int(rows["seg-demo-0"]["bytes"]), sum(logs))
        topics = {row["topic"]: row for row in self.mount.table("retention/topics.tsv")}
        self.assertEqual(topics["__consumer_offsets"]["partitions"], "5")
        as_json = self.mount.json("retention/status.json")["partitions"]
        self.assertEqual({entry["partition"] for entry in as_json}, set(rows))

    def test_removable_names_each_leftover_file(self):
        rows = self.mount.table("retention/removable.tsv")
        listed = {row["path"] for row in rows if row["kind"] == "deleted segment file"}
        on_disk = {os.path.join(folder, name) for folder, _, names in os.walk(fixture("live"))
                   for name in names if name.endswith(".deleted")}
        self.assertEqual(listed, on_disk)

    def test_a_walk_through_retention_ends_and_every_name_is_there(self):
        done = subprocess.run(["find", self.mount / "retained-0/retention", "-ls"], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.mount.read("problems.jsonl"), b"")


class OrphansTest(CopyTest):
    def test_orphans_are_directories_of_their_own_and_removable(self):
        source = self.copy("clean")
        mark = "0123456789abcdef0123456789abcdef"
        for topic, state in (("txn-0", "delete"), ("orders-0", "stray"), ("seg-demo-0", "future")):
            shutil.copytree(os.path.join(source, topic), os.path.join(source, f"{topic}.{mark}-{state}"))
        mount = self.mount(source, options=(f"now={NOW}",))
        self.assertEqual(len(mount.lines(f"orders-0.{mark}-stray/records.jsonl")), 500)
        self.assertEqual(mount.lines(f"seg-demo-0.{mark}-future/records.jsonl"),
                         mount.lines("seg-demo-0/records.jsonl"))
        kinds = {os.path.basename(row["path"]): row["kind"] for row in mount.table("retention/removable.tsv")}
        self.assertEqual(kinds, {f"txn-0.{mark}-delete": "-delete directory", f"orders-0.{mark}-stray": "-stray directory"})

    def test_a_partition_alone_takes_its_cluster_by_metadata_log(self):
        source = self.copy("clean")
        partition = os.path.join(source, "orders-0")
        with Mount(partition, options=(f"now={NOW}",)) as mount:
            self.assertIn("no whole metadata log", mount.text("retention/policy.tsv"))
        with Mount(partition, options=(f"now={NOW}",), arguments=("--metadata-log", source)) as mount:
            rows = {row["setting"]: row for row in mount.table("retention/policy.tsv")}
            self.assertEqual(rows["retention.bytes"]["value"], "5242880")


if __name__ == "__main__":
    unittest.main()
