"""The tree as a whole: what is listed, walks and copies of it, several log directories."""

import os
import shutil
import unittest

from mounted import (CopyTest, ENOENT, Mount, MountedTest, answer_records, error_of, fixture, output,
                     read, run)


class TreeTest(MountedTest):
    source = "clean"

    def test_the_root_holds_partitions_and_topics(self):
        names = set(self.mount.names())
        self.assertLessEqual({"README", "CACHEDIR.TAG", "problems.jsonl", "stats", "topics"}, names)
        partitions = {n for n in os.listdir(fixture("clean"))
                      if os.path.isdir(os.path.join(fixture("clean"), n))}
        self.assertLessEqual(partitions, names)

    def test_topics_lead_to_partitions(self):
        self.assertIn("we.ird-name_9-7", self.mount.names("topics"))
        self.assertEqual(self.mount.names("topics/we.ird-name_9-7"), ["0"])
        self.assertEqual(self.mount.link("topics/we.ird-name_9-7/0"), "../../we.ird-name_9-7-0")
        self.assertEqual(self.mount.read("topics/orders/0/offsets/5"),
                         answer_records("clean", "orders")[5]["value"])

    def test_a_partition_lists_what_the_readme_says(self):
        names = set(self.mount.names("orders-0"))
        self.assertLessEqual({"README", "CACHEDIR.TAG", "active", "first", "follow", "last", "first.json",
                              "last.json", "offsets", "problems.jsonl", "seek", "segments", "state",
                              "stats", "time"}, names)
        self.assertFalse([n for n in names if n.startswith("records.")])
        self.assertEqual(self.mount.names("orders-0/seek"), [])

    def test_the_readme_names_what_there_is(self):
        for path in ("README", "orders-0/README"):
            text = self.mount.text(path)
            self.assertLess(len(text.splitlines()), 90)
        for name in ("offsets/", ".json", ".lookup", "seek/", "time/", "segments/", "state/", "records."):
            self.assertIn(name, self.mount.text("orders-0/README"))

    def test_backup_programs_skip_the_mount(self):
        tag = self.mount.text("CACHEDIR.TAG")
        self.assertTrue(tag.startswith("Signature: 8a477f597d28d172789f06886806bc55"))
        archive = output("tar", "-c", "--exclude-caches-all", "-C", self.mount.folder, "mnt")
        self.assertLess(len(archive), 20480)

    def test_links_resolve_inside_the_mount(self):
        links = output("find", self.mount.path, "-type", "l").decode().splitlines()
        self.assertGreater(len(links), 50)
        for link in links:
            target = os.readlink(link)
            self.assertFalse(target.startswith("/"), link)
            self.assertTrue(os.path.realpath(link).startswith(self.mount.path), link)
            self.assertEqual(os.lstat(link).st_size, len(target), link)

    def test_state_holds_one_value_a_file(self):
        names = self.mount.names("orders-0/state")
        for name in ("log_start_offset", "log_end_offset", "high_watermark", "last_stable_offset",
                     "recovery_point", "cleaner_offset", "records", "topic", "partition", "topic_id",
                     "leader_epoch"):
            self.assertEqual(error_of(os.lstat, self.mount / f"orders-0/state/{name}"), 0, name)
        for name in names:
            text = self.mount.text(f"orders-0/state/{name}")
            if not name.endswith(".tsv"):
                self.assertLessEqual(text.count("\n"), 1, name)
        self.assertEqual(self.mount.text("orders-0/state/records"), "500\n")
        self.assertEqual(self.mount.text("orders-0/state/topic"), "orders\n")

    def test_the_topic_id_is_the_one_in_partition_metadata(self):
        for line in read(fixture("clean/orders-0/partition.metadata")).decode().splitlines():
            if line.startswith("topic_id: "):
                self.assertEqual(self.mount.text("orders-0/state/topic_id"),
                                 line.removeprefix("topic_id: ") + "\n")

    def test_statfs_says_full_and_read_only(self):
        told = os.statvfs(self.mount.path)
        self.assertEqual((told.f_bfree, told.f_bavail), (0, 0))
        self.assertGreater(told.f_blocks, 0)
        self.assertEqual(told.f_namemax, 255)
        self.assertTrue(told.f_flag & os.ST_RDONLY)
        self.assertTrue(told.f_flag & os.ST_NOSUID)

    def test_directories_are_as_old_as_their_source(self):
        self.assertEqual(self.mount.stat("orders-0").st_mtime_ns,
                         os.stat(fixture("clean/orders-0")).st_mtime_ns)

    def test_names_that_are_none(self):
        for name in ("orders", "orders-00", "orders-1", "orders-0.index", "meta.properties", "..x", "a" * 255,
                     "orders-0/segments/0", "orders-0/segments/00000000000000000001",
                     "orders-0/segments/00000000000000000000.log", "orders-0/state/x",
                     "orders-0/records", "orders-0/records.json", "orders-0/append"):
            self.assertEqual(error_of(os.lstat, self.mount / name), ENOENT, name)


class WalkTest(unittest.TestCase):
    """Whole trees, copied by the programs that people copy with."""

    def walk(self, partition, copy):
        with Mount(fixture(f"clean/{partition}")) as mount:
            target = os.path.join(mount.folder, "copy")
            copy(mount.path, target)
            for record in answer_records("clean", partition[:-2]):
                path = os.path.join(target, "offsets", str(record["offset"]))
                self.assertEqual(read(path), record["value"] or b"")
                if record["ts"] >= 0:
                    self.assertEqual(int(os.stat(path).st_mtime), record["ts"] // 1000)
            base = os.listdir(os.path.join(target, "segments"))[0]
            self.assertEqual(read(target, "segments", base, "records.jsonl"),
                             mount.read(f"segments/{base}/records.jsonl"))
            self.assertEqual(os.readlink(os.path.join(target, "active")), mount.link("active"))
            self.assertEqual(mount.complaints(), [])
            self.assertEqual(mount.read("problems.jsonl"), b"")

    def test_cp(self):
        self.walk("we.ird-name_9-7-0", lambda source, to: run("cp", "-a", source, to))
        self.walk("shapes-0", lambda source, to: run("cp", "-a", source, to))

    def test_rsync(self):
        self.walk("a1.segments2-0", lambda source, to: run("rsync", "-a", source + "/", to))

    def test_a_second_rsync_copies_nothing(self):
        with Mount(fixture("clean/seg-demo-0")) as mount:
            target = os.path.join(mount.folder, "copy")
            run("rsync", "-a", mount / "segments", target)
            again = output("rsync", "-ai", mount / "segments", target).decode()
            self.assertEqual([line for line in again.splitlines() if line.startswith(">f")], [])

    def test_tar(self):
        def copy(source, to):
            os.mkdir(to)
            archive = output("tar", "-c", "-C", source, ".")
            run("tar", "-x", "-C", to, stdin=archive)
        self.walk("a1.segments2-0", copy)
        self.walk("append-time-0", copy)

    def test_python_shutil(self):
        self.walk("codec-mixed-0", lambda source, to: shutil.copytree(source, to, symlinks=True))

    def test_find_and_du_and_ls_meet_each_record_twice_at_most(self):
        with Mount(fixture("clean/orders-0")) as mount:
            found = output("find", mount.path, "-type", "f").decode().splitlines()
            self.assertEqual(len([f for f in found if "/offsets/" in f]), 500)
            value = answer_records("clean", "orders")[77]["value"].decode()
            found = run("grep", "-rhcF", value, mount.path, check=False).stdout.split()
            self.assertLessEqual(sum(int(count) for count in found), 2)
            run("du", "-s", mount.path)
            run("ls", "-lR", mount.path)


class ListLimitTest(unittest.TestCase):
    """offsets/ ends after `-o list=N` names, and says so."""

    def test_the_listing_ends_with_efbig(self):
        with Mount(fixture("clean/seg-demo-0"), options=["list=100"]) as mount:
            ended = run("ls", "-f", mount / "offsets", check=False)
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn(b"File too large", ended.stderr)
            names = ended.stdout.split()
            self.assertLessEqual(len(names), 102)
            self.assertEqual(mount.read("offsets/3999"),
                             answer_records("clean", "seg-demo")[3999]["value"])

    def test_a_listing_of_exactly_the_limit_is_complete(self):
        with Mount(fixture("clean/seg-demo-0"), options=["list=4000"]) as mount:
            self.assertEqual(len(mount.names("offsets")), 4000)

    def test_all(self):
        with Mount(fixture("clean/seg-demo-0"), options=["list=all"]) as mount:
            self.assertEqual(len(mount.names("offsets")), 4000)


class SeveralDirectoriesTest(CopyTest):
    """JBOD: several log directories are one tree."""

    def two(self):
        first = self.copy("clean", "first")
        second = os.path.join(self.folder, "second")
        os.mkdir(second)
        shutil.copy2(f"{first}/meta.properties", second)
        for name in ("orders-0", "txn-0"):
            os.rename(f"{first}/{name}", f"{second}/{name}")
        return first, second

    def check(self, mount):
        names = mount.names()
        for name in ("orders-0", "txn-0", "seg-demo-0"):
            self.assertIn(name, names)
        self.assertEqual(mount.read("orders-0/offsets/9"), answer_records("clean", "orders")[9]["value"])
        self.assertEqual(mount.read("seg-demo-0/offsets/9"),
                         answer_records("clean", "seg-demo")[9]["value"])

    def test_sources_one_after_the_other(self):
        self.check(self.mount(*self.two()))

    def test_sources_joined_by_a_comma(self):
        self.check(self.mount(",".join(self.two())))

    def test_log_dirs_of_a_server_properties(self):
        first, second = self.two()
        config = os.path.join(self.folder, "server.properties")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"# a broker\nnode.id=1\nlog.dirs={first},{second}\n")
        self.check(self.mount(arguments=["--config", config]))

    def test_of_two_copies_the_longer_has_the_name(self):
        first = self.copy("clean", "first")
        second = self.copy("killed", "second")
        mount = self.mount(first, second)
        self.assertEqual(mount.text("seg-demo-0/state/log_end_offset"), "7000\n")
        self.assertEqual(mount.text("seg-demo-0~0/state/log_end_offset"), "4000\n")
        self.assertIn("seg-demo", mount.text("problems.jsonl"))


if __name__ == "__main__":
    unittest.main()
