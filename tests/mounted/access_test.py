"""Who may read what: what a user may not read in the source, they can't read in the mount."""

import os
import pwd
import subprocess
import unittest

from mounted import CopyTest, answer_records, read, wait_until

NOBODY = pwd.getpwnam("nobody")


def as_nobody(*command):
    """Exit status and output of a command that an unprivileged user runs."""
    done = subprocess.run(command, capture_output=True, check=False, user=NOBODY.pw_uid,
                          group=NOBODY.pw_gid, extra_groups=[])
    return done.returncode, done.stdout + done.stderr


class ModeTest(CopyTest):
    """Modes and owners, as the mounting user sees them."""

    def test_a_record_has_its_logs_mode_without_write_bits(self):
        source = self.copy("clean/orders-0")
        for mode, shown in ((0o644, 0o444), (0o600, 0o400), (0o640, 0o440), (0o777, 0o444)):
            os.chmod(f"{source}/00000000000000000000.log", mode)
            mount = self.mount(source)
            self.assertEqual(mount.stat("offsets/5").st_mode & 0o7777, shown)
            self.assertEqual(mount.stat("segments/00000000000000000000/records.jsonl").st_mode & 0o7777,
                             shown)
            mount.close()

    def test_a_view_of_several_files_has_the_narrowest_mode(self):
        source = self.copy("clean/seg-demo-0")
        os.chmod(f"{source}/00000000000000001005.log", 0o600)
        mount = self.mount(source)
        self.assertEqual(mount.stat("offsets/5").st_mode & 0o7777, 0o444)
        self.assertEqual(mount.stat("offsets/1500").st_mode & 0o7777, 0o400)
        self.assertEqual(mount.stat("records.jsonl").st_mode & 0o7777, 0o400)

    def test_an_index_is_never_wider_than_its_log(self):
        source = self.copy("clean/seg-demo-0")
        os.chmod(f"{source}/00000000000000001005.log", 0o600)
        mount = self.mount(source)
        base = "segments/00000000000000001005"
        for name in mount.names(base):
            self.assertEqual(mount.stat(f"{base}/{name}").st_mode & 0o077, 0, name)


@unittest.skipIf(os.getuid() != 0, "needs root, to be another user")
class OtherUserTest(CopyTest):
    def setUp(self):
        super().setUp()
        self.source = self.copy("clean", "source")
        self.log = f"{self.source}/orders-0/00000000000000000000.log"
        self.value = answer_records("clean", "orders")[5]["value"]

    def show(self, *options):
        mount = self.mount(self.source, options=["allow_other", *options])
        return mount, mount / "orders-0/offsets/5"

    def test_without_allow_other_nobody_else_gets_in(self):
        mount = self.mount(self.source)
        status, _ = as_nobody("ls", mount.path)
        self.assertNotEqual(status, 0)
        self.assertEqual(read(mount / "orders-0/offsets/5"), self.value)

    def test_with_it_they_read_what_the_source_lets_them_read(self):
        _, path = self.show()
        self.assertEqual(as_nobody("cat", path), (0, self.value))

    def test_a_private_log_stays_private(self):
        os.chmod(self.log, 0o600)
        mount, path = self.show()
        for name in (path, f"{path}.json", f"{path}.key", f"{path}.lookup", mount / "orders-0/records.values",
                     mount / "orders-0/offsets/1..3.jsonl", mount / "orders-0/active/records.jsonl",
                     mount / "orders-0/active/batches.jsonl"):
            status, said = as_nobody("cat", name)
            self.assertNotEqual(status, 0, name)
            self.assertIn(b"Permission denied", said, name)
        self.assertEqual(as_nobody("cat", mount / "seg-demo-0/offsets/5"),
                         (0, answer_records("clean", "seg-demo")[5]["value"]))
        self.assertNotEqual(as_nobody("getfattr", "-d", path)[1].count(b"user.kafka"), 1)

    def test_names_and_links_tell_nothing_of_a_private_log(self):
        os.chmod(self.log, 0o600)
        mount, path = self.show()
        partition = mount / "orders-0"
        moment = os.listdir(f"{partition}/time")[0]
        for command in (["ls", f"{partition}/offsets"], ["ls", f"{partition}/time"], ["stat", path],
                        ["getfattr", "-d", path], ["stat", f"{partition}/time/{moment}"],
                        ["stat", f"{partition}/seek/3"], ["ls", f"{partition}/retention/expired"]):
            status, said = as_nobody(*command)
            self.assertNotEqual(status, 0, command)
            self.assertIn(b"Permission denied", said, command)
        for link in ("first", "last", "last.json", "seek/3", f"time/{moment}"):
            self.assertNotEqual(as_nobody("readlink", f"{partition}/{link}"), (0, b""), link)
            self.assertEqual(as_nobody("readlink", f"{partition}/{link}")[1], b"", link)
            self.assertTrue(os.readlink(f"{partition}/{link}"), link)
        self.assertNotEqual(as_nobody("cat", f"{partition}/problems.jsonl")[0], 0)
        self.assertNotEqual(as_nobody("cat", mount / "problems.jsonl")[0], 0)
        # A log that everybody may read is as it was.
        for command in (["ls", mount / "seg-demo-0/time"], ["readlink", mount / "seg-demo-0/last"],
                        ["ls", mount / "seg-demo-0/retention/expired"]):
            self.assertEqual(as_nobody(*command)[0], 0, command)

    def test_a_private_partition_directory_stays_private(self):
        os.chmod(f"{self.source}/orders-0", 0o700)
        mount, path = self.show()
        self.assertIn(b"Permission denied", as_nobody("cat", path)[1])
        self.assertIn(b"Permission denied", as_nobody("ls", mount / "orders-0")[1])
        self.assertIn(b"Permission denied", as_nobody("cat", mount / "topics/orders/0/offsets/5")[1])

    def test_a_private_directory_above_the_source_protects_the_mount(self):
        os.chmod(self.folder, 0o700)
        _, path = self.show()
        self.assertIn(b"Permission denied", as_nobody("cat", path)[1])
        os.chmod(self.folder, 0o755)

    def test_so_does_one_that_becomes_private_later(self):
        _, path = self.show()
        self.assertEqual(as_nobody("cat", path), (0, self.value))
        os.chmod(self.folder, 0o700)
        self.addCleanup(os.chmod, self.folder, 0o755)
        wait_until(lambda: as_nobody("cat", path)[0] != 0, "the mount to become private")
        self.assertIn(b"Permission denied", as_nobody("cat", path)[1])
        self.assertEqual(read(path), self.value)

    def test_a_private_source_protects_the_mount(self):
        os.chmod(self.source, 0o700)
        _, path = self.show()
        self.assertIn(b"Permission denied", as_nobody("cat", path)[1])

    def test_the_owner_of_a_log_may_read_it(self):
        os.chmod(self.log, 0o600)
        os.chown(self.log, NOBODY.pw_uid, NOBODY.pw_gid)
        _, path = self.show()
        self.assertEqual(as_nobody("cat", path), (0, self.value))
        self.assertEqual(os.stat(path).st_uid, NOBODY.pw_uid)


if __name__ == "__main__":
    unittest.main()
