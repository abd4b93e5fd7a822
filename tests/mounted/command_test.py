"""The command: start, options, errors, end."""

import os
import signal
import subprocess
import time
import unittest

from mounted import (BINARY, PATIENCE, CopyTest, Mount, answer_records, fixture, is_mounted, read,
                     run, wait_until)


def offsetfs(*arguments, **more):
    return run(BINARY, *arguments, check=False, **more)


def unmount(place):
    """As an admin does who tries again: who looks through all mounts holds each of them for a moment."""
    wait_until(lambda: run("umount", place, check=False).returncode == 0, f"umount {place}")


class CommandTest(CopyTest):
    """A mount point, and what is asked of a command that mounts there."""

    def setUp(self):
        super().setUp()
        self.place = os.path.join(self.folder, "mnt")
        os.mkdir(self.place)
        self.addCleanup(self.unmount)

    def unmount(self):
        while is_mounted(self.place):
            subprocess.run(["umount", "-l", self.place], check=False)

    def check_refused(self, *arguments, says=b""):
        ended = offsetfs(*arguments)
        self.assertNotEqual(ended.returncode, 0, arguments)
        self.assertEqual(ended.stdout, b"", arguments)
        self.assertEqual(ended.stderr.count(b"\n"), 1, ended.stderr)
        self.assertIn(says, ended.stderr)
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


class CreateTest(CommandTest):
    """offsetfs create: a log that is there, with its settings; or one line."""

    def test_a_log_that_was_made_is_an_empty_one_with_its_settings(self):
        logs = os.path.join(self.folder, "logs")
        made = offsetfs("create", logs, "--topic", "orders", "--partition", "3", "-o",
                        "retention.ms=5000,cleanup.policy=compact\\,delete")
        self.assertEqual((made.returncode, made.stderr), (0, b""))
        self.assertEqual(made.stdout.decode(), os.path.join(logs, "orders-3") + "\n")
        with Mount(logs) as mount:
            self.assertEqual(mount.read("orders-3/state/log_end_offset"), b"0\n")
            policy = mount.read("orders-3/retention/policy.tsv").decode()
            self.assertRegex(policy, r"retention\.ms\t5000\t.*topic")
            self.assertRegex(policy, r"cleanup\.policy\tcompact,delete\t.*topic")
            self.assertEqual(mount.read("problems.jsonl"), b"")

    def test_what_can_not_be_made_is_one_line(self):
        logs = os.path.join(self.folder, "logs")
        orders = ("create", logs, "--topic", "orders")
        self.assertEqual(offsetfs(*orders).returncode, 0)
        self.check_refused(*orders, says=b"offsetfs append")
        self.check_refused("create", says=b"no DIR")
        self.check_refused("create", logs, says=b"--topic")
        self.check_refused("create", logs, "--topic", "a/b", says=b"ASCII")
        self.check_refused("create", logs, "--topic", "a", "-o", "segment.bytes=1000", says=b"1048576")
        self.check_refused("create", logs, "--topic", "a", "-o", "segment.byte=1", says=b"segment.bytes")
        self.check_refused("create", fixture("clean"), "--topic", "a", says=b"--force")
        self.check_refused("create", fixture("clean"), "--topic", "a", "--broker", says=b"kafka-topics")

    def test_a_node_that_was_made_is_mounted_without_a_complaint(self):
        node = os.path.join(self.folder, "node")
        self.assertEqual(offsetfs("create", node, "--topic", "orders", "--broker").returncode, 0)
        with Mount(node) as mount:
            self.assertEqual(mount.read("orders-0/state/log_end_offset"), b"0\n")
            self.assertEqual(mount.complaints(), [])
            self.assertEqual(mount.read("problems.jsonl"), b"")

    def test_help(self):
        for flag in ("--help", "-h"):
            shown = offsetfs("create", flag)
            self.assertEqual((shown.returncode, shown.stderr), (0, b""))
            self.assertIn(b"--broker", shown.stdout)
        self.assertIn(b"offsetfs create", offsetfs("--help").stdout)


class AppendTest(CommandTest):
    """offsetfs append: what it refuses, and that nothing was written then."""

    def make(self, *settings):
        logs = os.path.join(self.folder, "logs")
        self.assertEqual(offsetfs("create", logs, "--topic", "orders", *settings).returncode, 0)
        return logs, os.path.join(logs, "orders-0")

    def append(self, log, lines, *arguments):
        return subprocess.run([BINARY, "append", log, *arguments], input=lines, timeout=PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def test_a_compacted_log_takes_no_record_without_a_key(self):
        _, log = self.make("-o", "cleanup.policy=compact")
        refused = self.append(log, b"lost at the first compaction\n")
        self.assertEqual(refused.returncode, 2)
        self.assertIn(b"Compacted topic cannot accept message without key", refused.stderr)
        kept = self.append(log, b"k:v\n", "--key-separator", ":")
        self.assertEqual((kept.returncode, kept.stdout), (0, b"orders-0: 1 record, offset 0\n"))

    def test_offsets_are_not_given_twice_where_a_flushed_segment_was_lost(self):
        _, log = self.make()
        self.assertEqual(self.append(log, b"a\nb\nc\n").returncode, 0)
        segment = os.path.join(log, "0" * 20 + ".log")
        os.truncate(segment, 0)
        refused = self.append(log, b"d\n")
        self.assertEqual(refused.returncode, 2)
        self.assertIn(b"flushed up to 3 once", refused.stderr)
        self.assertEqual(os.path.getsize(segment), 0)

    def test_an_answer_that_nobody_can_read_is_a_line_on_stderr(self):
        def into_full(*arguments):
            with open("/dev/full", "wb") as full:
                ended = subprocess.run([BINARY, *arguments], input=b"one\n", stdout=full,
                                       stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
            self.assertEqual(ended.returncode, 2, arguments)
            self.assertEqual(ended.stderr.count(b"\n"), 1, ended.stderr)
            self.assertIn(b"stdout can't be written: No space left on device", ended.stderr)
            return ended.stderr
        for arguments in (["--help"], ["--version"], ["create", "--help"], ["append", "--help"]):
            into_full(*arguments)
        logs = os.path.join(self.folder, "logs")
        self.assertIn(f"made all the same: {logs}/orders-0\n".encode(),
                      into_full("create", logs, "--topic", "orders"))
        self.assertIn(b"done all the same: orders-0: 1 record, offset 0\n",
                      into_full("append", f"{logs}/orders-0"))

    def test_closed_standard_streams_are_nobody_elses_files(self):
        _, log = self.make()
        ended = subprocess.run(["bash", "-c", '"$0" append "$1" <&- >&- 2>&-', BINARY, log],
                               timeout=PATIENCE, check=False)
        self.assertEqual(ended.returncode, 0)
        mounted = subprocess.run(
            ["bash", "-c", '"$0" "$1" "$2" <&- >&- 2>&-', BINARY, fixture("clean"), self.place],
            timeout=PATIENCE, check=False)
        self.assertEqual(mounted.returncode, 0)
        self.assertTrue(is_mounted(self.place))


class StartTest(CommandTest):
    def test_help_and_version(self):
        for flag in ("--help", "-h"):
            shown = offsetfs(flag)
            self.assertEqual((shown.returncode, shown.stderr), (0, b""))
            self.assertIn(b"SOURCE", shown.stdout)
        shown = offsetfs("--version")
        self.assertEqual(shown.returncode, 0)
        self.assertTrue(shown.stdout.startswith(b"offsetfs "))

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
        unmount(self.place)
        self.assertFalse(is_mounted(self.place))

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

    def test_a_connection_that_is_aborted_is_a_broken_mount_and_leaves_none(self):
        mount = Mount(fixture("clean"))
        self.addCleanup(mount._clear)
        with open(mount / "README", "rb"):
            subprocess.run(["umount", "-f", mount.path], check=False, stderr=subprocess.DEVNULL)
            self.assertEqual(mount.process.wait(PATIENCE), 2)
            self.assertFalse(is_mounted(mount.path))
        self.assertIn("the connection to the kernel was aborted", mount.complaints()[0])

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
        unmount(self.place)
        self.assertFalse(is_mounted(self.place))

    def test_the_log_goes_to_a_file(self):
        log = os.path.join(self.folder, "log")
        self.assertEqual(offsetfs(fixture("clean"), self.place, "--log-file", log).returncode, 0)
        read(self.place, "orders-0/offsets/5")
        unmount(self.place)
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
        with Mount(fixture("clean/txn-0"), options=[CLOCK], limits=no_memory) as mount:
            self.assertEqual(tree_of(mount), wanted)
            said = [line for line in mount.log().splitlines() if "io_uring" in line]
            self.assertLessEqual(len(said), 1, said)


# retention/ speaks of the hour it is read in: trees that are compared share a clock.
CLOCK = "now=2026-11-30T00:00:00Z"


def tree_of(mount):
    """All contents by name, but for what differs from mount to mount."""
    contents = {}
    for path, _, files in os.walk(mount.path):
        for name in files:
            if name != "stats":
                contents[os.path.relpath(os.path.join(path, name), mount.path)] = read(path, name)
    return contents


def read_everything(source, option):
    with Mount(source, options=[option, CLOCK]) as mount:
        return tree_of(mount)


@unittest.skipIf(os.getuid() != 0, "mount(8) needs root")
class Mount8Test(CommandTest):
    """mount(8) passes no PATH on, so that a command that is not installed is named by its path."""

    def mount8(self, kind, source, *options):
        return run("mount", "-t", kind, source, self.place, *options, check=False)

    def options_shown(self):
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            return next(line for line in mounts if self.place in line).split()[3].split(",")

    def test_its_words_are_understood(self):
        done = self.mount8(f"fuse.{BINARY}", fixture("clean"), "-o",
                           "list=7,ro,noatime,allow_other,x-systemd.automount,_netdev,nofail")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn("allow_other", self.options_shown())
        self.assertIn("default_permissions", self.options_shown())
        ended = run("ls", "-f", f"{self.place}/orders-0/offsets", check=False)
        self.assertIn(b"File too large", ended.stderr)
        unmount(self.place)

    def test_its_rw_mounts_read_only(self):
        done = self.mount8("fuse", f"{BINARY}#{fixture('clean')}")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn("ro", self.options_shown())
        unmount(self.place)

    def test_an_fstab_line_may_leave_the_sources_to_the_config(self):
        config = os.path.join(self.folder, "server.properties")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"log.dirs={fixture('clean')}\n")
        done = self.mount8(f"fuse.{BINARY}", "none", "-o", f"config={config}")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn("orders-0", os.listdir(self.place))
        unmount(self.place)

    def test_it_passes_our_exit_codes_on(self):
        self.assertEqual(self.mount8(f"fuse.{BINARY}", fixture("clean"), "-o", "lst=7").returncode, 1)
        self.assertEqual(self.mount8(f"fuse.{BINARY}", "/nowhere/at/all").returncode, 32)


class CallerTest(CommandTest):
    """What the command owes the one who calls it."""

    def test_it_says_nothing_where_all_is_well(self):
        done = offsetfs(fixture("clean"), self.place)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        run("fusermount3", "-u", self.place)

    def test_a_hangup_unmounts_too_and_the_end_is_no_failure(self):
        process = subprocess.Popen([BINARY, fixture("clean"), self.place, "-f"],
                                   stderr=subprocess.DEVNULL)
        wait_until(lambda: is_mounted(self.place), "the mount")
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(PATIENCE), 0)
        self.assertFalse(is_mounted(self.place))

    def test_a_script_that_ignores_interrupts_starts_a_mount_that_does(self):
        run("sh", "-c", f"trap '' INT; exec {BINARY} {fixture('clean')} {self.place}")
        (pid,) = self.daemon()
        os.kill(pid, signal.SIGINT)
        self.assertIn("orders-0", os.listdir(self.place))
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not is_mounted(self.place), "the end")

    def test_an_end_at_any_moment_of_the_start_leaves_nothing(self):
        for step in range(40):
            process = subprocess.Popen([BINARY, fixture("clean"), self.place, "-f"],
                                       stderr=subprocess.DEVNULL)
            time.sleep(step / 2000)
            process.send_signal(signal.SIGTERM)
            self.assertIn(process.wait(PATIENCE), (0, -signal.SIGTERM))
            self.assertFalse(is_mounted(self.place))

    def test_disks_may_be_joined_by_commas_or_named_by_a_config(self):
        disks = [os.path.join(self.folder, name) for name in ("a", "b")]
        for disk, partition in zip(disks, ("orders-0", "txn-0")):
            os.mkdir(disk)
            self.copy(f"clean/{partition}", f"{disk}/{partition}")
        config = os.path.join(self.folder, "server.properties")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"log.dirs={disks[0]},\\\n  {disks[1]}\n")
        for sources in ([",".join(disks)], disks, ["--config", config]):
            self.assertEqual(offsetfs(*sources, self.place).returncode, 0)
            self.assertLessEqual({"orders-0", "txn-0"}, set(os.listdir(self.place)))
            unmount(self.place)

    def test_a_log_inside_the_source_is_refused(self):
        source = self.copy("clean", "source")
        self.check_refused(source, self.place, "--log-file", f"{source}/log", says=b"would change it")
        self.assertFalse(os.path.exists(f"{source}/log"))

    def test_what_is_cleared_at_the_start_is_one_line(self):
        for _ in range(2):
            self.assertEqual(offsetfs(fixture("clean"), self.place).returncode, 0)
            os.kill(self.daemon()[0], signal.SIGKILL)
            wait_until(lambda: not self.daemon(), "its death")
        again = offsetfs(fixture("clean"), self.place)
        self.assertEqual((again.returncode, again.stderr.count(b"\n")), (0, 1), again.stderr)
        self.assertIn(b"killed offsetfs", again.stderr)
        unmount(self.place)
        self.assertFalse(is_mounted(self.place))


@unittest.skipIf(os.getuid() != 0, "needs root, to be another user")
class UserTest(CommandTest):
    """An ordinary user mounts: in a mount namespace of its own, where /dev/fuse is everybody's."""

    def setUp(self):
        super().setUp()
        os.chmod(self.place, 0o777)

    def as_user(self, script, fuse_conf=""):
        with open(os.path.join(self.folder, "fuse.conf"), "w", encoding="utf-8") as file:
            file.write(fuse_conf)
        with open(os.path.join(self.folder, "script"), "w", encoding="utf-8") as file:
            file.write(f"trap 'fusermount3 -uqz mnt 2>/dev/null || :' EXIT\n{script}\n")
        os.mkdir(os.path.join(self.folder, "dev"))
        prepare = """
            cd "$1"
            mount -t tmpfs -o dev tmpfs dev && mknod -m 666 dev/fuse c 10 229 || exit 77
            mount --bind dev/fuse /dev/fuse && mount --bind fuse.conf /etc/fuse.conf || exit 77
            exec setpriv --reuid nobody --regid nogroup --clear-groups sh -e script "$2" "$3" mnt
        """
        done = run("unshare", "--mount", "sh", "-c", prepare, "sh", self.folder, BINARY,
                   fixture("clean"), check=False)
        if done.returncode == 77:
            self.skipTest(f"no mount namespaces here: {done.stderr.decode()}")
        return done

    def test_a_user_mounts_and_unmounts(self):
        done = self.as_user("""
            "$1" "$2" "$3"
            cat "$3/orders-0/offsets/5"
            fusermount3 -u "$3"
        """)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout, answer_records("clean", "orders")[5]["value"])

    def test_a_user_heals_the_users_own_dead_mount(self):
        done = self.as_user("""
            "$1" "$2" "$3" -f 2>/dev/null & daemon=$!
            until cat "$3/README" >/dev/null 2>&1; do kill -0 $daemon; done
            kill -9 $daemon
            wait $daemon || true
            "$1" "$2" "$3"
            cat "$3/orders-0/offsets/5"
            fusermount3 -u "$3"
        """)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"killed offsetfs", done.stderr)
        self.assertEqual(done.stdout, answer_records("clean", "orders")[5]["value"])

    def test_a_source_that_only_root_may_read_says_so_once(self):
        done = self.as_user('"$1" /proc/1/fd "$3"')
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (32, 1))
        self.assertIn(b"run offsetfs as root\n", done.stderr)

    def test_a_log_directory_that_the_user_may_not_write_is_told_with_a_cure(self):
        offsetfs("create", os.path.join(self.folder, "logs"), "--topic", "orders")
        done = self.as_user('"$1" append logs/orders-0 </dev/null || "$1" logs "$3" -o append')
        lines = done.stderr.decode().splitlines()
        self.assertEqual((done.returncode, len(lines)), (32, 2), lines)
        for line in lines:
            self.assertIn(".lock: Permission denied; run this as somebody who may write in ", line)

    def test_allow_other_needs_the_administrators_leave(self):
        done = self.as_user('"$1" "$2" "$3" -o allow_other')
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (32, 1))
        self.assertIn(b"user_allow_other", done.stderr)

    def test_a_log_whose_mount_fails_is_closed_again(self):
        os.mkdir(os.path.join(self.folder, "own"))
        os.chmod(os.path.join(self.folder, "own"), 0o777)
        done = self.as_user("""
            "$1" create own/logs --topic orders > /dev/null
            ls -A own/logs > own/before
            status=0
            "$1" own/logs "$3" -o append || status=$?
            ls -A own/logs | diff own/before -
            grep -q cleanshutdown own/before
            exit $status
        """, fuse_conf="mount_max = 0\n")
        self.assertEqual((done.returncode, done.stdout), (32, b""), done.stderr)
        self.assertIn(b"raise mount_max", done.stderr)

    def test_with_the_administrators_leave_root_gets_in_too(self):
        done = self.as_user("""
            "$1" "$2" "$3" -o allow_other
            grep -c "$(realpath "$3") .*default_permissions" /proc/mounts
            fusermount3 -u "$3"
        """, fuse_conf="user_allow_other\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"1\n", b""))

    def test_a_mount_point_of_somebody_else_is_one_line(self):
        os.chmod(self.place, 0o755)
        done = self.as_user('"$1" "$2" "$3"')
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (32, 1), done.stderr)
        self.assertIn(b"that you own", done.stderr)


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
