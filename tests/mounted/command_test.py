"""The command: start, options, errors, end."""

import os
import signal
import subprocess
import unittest

from mounted import (BINARY, CopyTest, Mount, answer_records, fixture, is_mounted, read, run,
                     wait_until)


def offsetfs(*arguments, **more):
    return run(BINARY, *arguments, check=False, **more)


class StartTest(CopyTest):
    def setUp(self):
        super().setUp()
        self.place = os.path.join(self.folder, "mnt")
        os.mkdir(self.place)
        self.addCleanup(self.unmount)

    def unmount(self):
        while is_mounted(self.place):
            subprocess.run(["umount", "-l", self.place], check=False)

    def test_help_and_version(self):
        for flag in ("--help", "-h"):
            shown = offsetfs(flag)
            self.assertEqual((shown.returncode, shown.stderr), (0, b""))
            self.assertIn(b"SOURCE", shown.stdout)
        shown = offsetfs("--version")
        self.assertEqual(shown.returncode, 0)
        self.assertTrue(shown.stdout.startswith(b"offsetfs "))

    def check_refused(self, *arguments, says=b""):
        ended = offsetfs(*arguments)
        self.assertNotEqual(ended.returncode, 0, arguments)
        self.assertEqual(ended.stdout, b"", arguments)
        self.assertEqual(ended.stderr.count(b"\n"), 1, ended.stderr)
        self.assertIn(says, ended.stderr)
        self.assertFalse(is_mounted(self.place))

    def test_every_start_up_error_is_one_line(self):
        orders, file = fixture("clean/orders-0"), os.path.join(self.folder, "file")
        open(file, "wb").close()
        empty = os.path.join(self.folder, "empty")
        os.mkdir(empty)
        self.check_refused()
        self.check_refused(orders)
        self.check_refused("/nowhere/at/all", self.place, says=b"/nowhere/at/all")
        self.check_refused(file, self.place, says=b"file")
        self.check_refused(empty, self.place, says=b"empty")
        self.check_refused(orders, os.path.join(self.folder, "missing"), says=b"mkdir")
        self.check_refused(orders, file)
        self.check_refused(orders, self.place, "-o", "no_such_option", says=b"no_such_option")
        self.check_refused(orders, self.place, "-o", "list=many", says=b"list")
        self.check_refused(orders, self.place, "--no-such-flag")
        self.check_refused("--config", "/nowhere/server.properties", self.place,
                           says=b"/nowhere/server.properties")

    def test_a_mount_point_inside_the_source_is_refused(self):
        source = self.copy("clean", "source")
        os.mkdir(f"{source}/mnt")
        self.check_refused(source, f"{source}/mnt")
        self.check_refused(source, source)

    def test_a_source_on_an_offsetfs_mount_is_refused(self):
        with Mount(fixture("clean")) as mount:
            self.check_refused(mount / "orders-0", self.place)

    def test_a_mount_point_that_is_in_use_is_refused(self):
        with Mount(fixture("clean")) as mount:
            self.check_refused(fixture("clean/orders-0"), mount.path)
        open(f"{self.place}/file", "wb").close()
        self.check_refused(fixture("clean/orders-0"), self.place, says=b"nonempty")
        os.unlink(f"{self.place}/file")

    def test_it_returns_only_when_the_mount_works(self):
        self.assertEqual(offsetfs(fixture("clean"), self.place).returncode, 0)
        self.assertEqual(read(self.place, "orders-0/offsets/5"),
                         answer_records("clean", "orders")[5]["value"])
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            line = next(line for line in mounts if self.place in line)
        self.assertIn("fuse.offsetfs", line)
        for word in ("ro", "nosuid", "nodev", "noexec"):
            self.assertIn(word, line.split()[3].split(","))
        run("umount", self.place)
        self.assertFalse(is_mounted(self.place))

    def daemon(self):
        """The process that serves the mount: found by its command line."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = read(f"/proc/{pid}/cmdline").split(b"\0")
            except OSError:
                continue
            if self.place.encode() in words and words[0].endswith(b"offsetfs"):
                found.append(int(pid))
        return found

    def test_sigterm_and_sigint_unmount(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.assertEqual(offsetfs(fixture("clean"), self.place).returncode, 0)
            (pid,) = self.daemon()
            with open(os.path.join(self.place, "orders-0/offsets/5"), "rb"):
                os.kill(pid, number)
                wait_until(lambda: not is_mounted(self.place), f"the end after signal {number}")
            wait_until(lambda: not self.daemon(), "the daemon's end")

    def test_umount_ends_the_daemon(self):
        self.assertEqual(offsetfs(fixture("clean"), self.place).returncode, 0)
        run("fusermount3", "-u", self.place)
        wait_until(lambda: not self.daemon(), "the daemon's end")

    def test_a_stale_mount_of_a_killed_daemon_is_healed(self):
        self.assertEqual(offsetfs(fixture("clean"), self.place).returncode, 0)
        (pid,) = self.daemon()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not self.daemon(), "its death")
        with self.assertRaises(OSError):
            os.listdir(self.place)
        again = offsetfs(fixture("clean"), self.place)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("orders-0", os.listdir(self.place))
        run("umount", self.place)
        self.assertFalse(is_mounted(self.place))

    @unittest.skipIf(os.getuid() != 0, "mount(8) needs root")
    def test_mount_8_calls_it(self):
        helper = "/sbin/mount.fuse.offsetfs"
        environment = {**os.environ, "PATH": f"{os.path.dirname(BINARY)}:{os.environ['PATH']}"}
        self.assertFalse(os.path.exists(helper))
        run("mount", "-t", "fuse.offsetfs", fixture("clean"), self.place, "-o", "list=7,ro,noatime",
            env=environment)
        ended = run("ls", "-f", f"{self.place}/orders-0/offsets", check=False)
        self.assertIn(b"File too large", ended.stderr)
        run("umount", self.place)

    def test_the_log_goes_to_a_file(self):
        log = os.path.join(self.folder, "log")
        self.assertEqual(offsetfs(fixture("clean"), self.place, "--log-file", log).returncode, 0)
        read(self.place, "orders-0/offsets/5")
        run("umount", self.place)
        self.assertTrue(os.path.exists(log))
        for line in read(log).decode().splitlines():
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT[\d:.]+\S* (info|warning|error) ")

    def test_both_backends_say_the_same(self):
        wanted = read_everything(fixture("clean/shapes-0"), "io=auto")
        self.assertEqual(read_everything(fixture("clean/shapes-0"), "io=pread"), wanted)

    def test_a_refused_ring_is_said_once_and_changes_nothing(self):
        import resource

        def no_memory():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
        wanted = read_everything(fixture("clean/txn-0"), "io=pread")
        with Mount(fixture("clean/txn-0"), limits=no_memory) as mount:
            self.assertEqual(tree_of(mount), wanted)
            said = [line for line in mount.log().splitlines() if "io_uring" in line]
            self.assertLessEqual(len(said), 1, said)


def tree_of(mount):
    """All contents by name, but for what differs from mount to mount."""
    contents = {}
    for path, _, files in os.walk(mount.path):
        for name in files:
            if name != "stats":
                contents[os.path.relpath(os.path.join(path, name), mount.path)] = read(path, name)
    return contents


def read_everything(source, option):
    with Mount(source, options=[option]) as mount:
        return tree_of(mount)


class InterruptTest(CopyTest):
    """Readers that go away, and an end while they are there."""

    def test_a_reader_that_is_killed_holds_up_nobody(self):
        mount = self.mount(fixture("clean"))
        readers = [subprocess.Popen(["cat", mount / "seg-demo-0/records.jsonl"],
                                    stdout=subprocess.PIPE) for _ in range(20)]
        for reader in readers:
            reader.kill()
        for reader in readers:
            reader.communicate()
        self.assertEqual(mount.read("orders-0/offsets/5"), answer_records("clean", "orders")[5]["value"])

    def test_many_readers_at_once(self):
        mount = self.mount(fixture("clean"))
        wanted = {}
        readers = []
        for topic in ("seg-demo", "txn", "orders", "codec-zstd", "compacted"):
            wanted[topic] = b"".join((r["value"] or b"") + b"\n" for r in answer_records("clean", topic))
            for _ in range(4):
                readers.append((topic, subprocess.Popen(["cat", mount / f"{topic}-0/records.values"],
                                                        stdout=subprocess.PIPE)))
        for topic, reader in readers:
            self.assertEqual(reader.communicate()[0], wanted[topic], topic)


if __name__ == "__main__":
    unittest.main()
