"""-o append: a log without a broker, written through its mount."""

import errno
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from mounted import (BINARY, CopyTest, FIXTURES, SAMPLE, error_of, output, read,
                     run, sampled, wait_until)


class AppendTest(CopyTest):
    def create(self, topic="orders", **settings):
        """An empty log; the path of its directory."""
        command = [BINARY, "create", f"{self.folder}/logs", "--topic", topic]
        if settings:
            command += ["-o", ",".join(f"{k.replace('_', '.')}={v}" for k, v in settings.items())]
        return output(*command).decode().strip()

    def append_mount(self, source, *options, **more):
        return self.mount(source, options=("append", *options), **more)

    def files(self, partition):
        return sorted(os.listdir(partition))

    def kill(self, mounted, meanwhile=lambda: None):
        """kill -9, and its dead mount cleared away."""
        mounted.process.kill()
        mounted.process.wait()
        meanwhile()
        mounted._clear()


class WritingTest(AppendTest):
    def setUp(self):
        super().setUp()
        self.partition = self.create()
        self.mounted = self.append_mount(self.partition)

    def append(self, data, name="append", flags=0):
        """One write(2) after the other until all is taken; the count of writes."""
        handle = os.open(self.mounted / name, os.O_WRONLY | flags)
        try:
            writes = 0
            while data:
                data = data[os.write(handle, data):]
                writes += 1
            return writes
        finally:
            os.close(handle)

    def sh(self, script):
        return run("bash", "-c", script, cwd=self.mounted.path, check=False)

    def test_what_a_shell_appends_is_there_at_once(self):
        self.sh("echo one >> append; echo two > append; printf 'three\\nfour' >> append")
        self.assertEqual(self.mounted.text("records.values"), "one\ntwo\nthree\nfour\n")
        self.assertEqual(self.mounted.text("state/log_end_offset"), "4\n")
        self.assertEqual(self.mounted.link("last"), "offsets/3")
        self.assertEqual(self.mounted.complaints(), [])

    def test_readers_see_a_record_when_its_write_returns(self):
        handle = os.open(self.mounted / "append", os.O_WRONLY | os.O_APPEND)
        self.addCleanup(os.close, handle)
        for i in range(200):
            os.write(handle, b"value %d\n" % i)
            self.assertEqual(self.mounted.read("last"), b"value %d" % i)
            self.assertEqual(self.mounted.read(f"offsets/{i}"), b"value %d" % i)
        self.assertEqual(len(self.mounted.lines("active/records.jsonl")), 200)

    def test_the_files_are_for_writing_only_and_by_the_owner(self):
        for name in ("append", "append.jsonl"):
            stat = self.mounted.stat(name)
            self.assertEqual((stat.st_mode & 0o7777, stat.st_size), (0o200, 0))
            self.assertEqual((stat.st_uid, stat.st_gid), (os.stat(self.partition).st_uid,
                                                          os.stat(self.partition).st_gid))
            self.assertEqual(self.mounted.error(name), errno.EACCES)
            self.assertEqual(error_of(os.open, self.mounted / name, os.O_RDWR), errno.EACCES)
            self.assertIn(name, self.mounted.names())

    def test_everything_else_is_not_permitted(self):
        self.append(b"a\n")
        path = self.mounted.path
        before = read(self.partition, "00000000000000000000.log")
        refused = {
            "unlink": error_of(os.unlink, f"{path}/append"),
            "unlink a record": error_of(os.unlink, f"{path}/offsets/0"),
            "rmdir": error_of(os.rmdir, f"{path}/offsets"),
            "mkdir": error_of(os.mkdir, f"{path}/new"),
            "create": error_of(os.open, f"{path}/new", os.O_WRONLY | os.O_CREAT),
            "mknod": error_of(os.mknod, f"{path}/new"),
            "rename": error_of(os.rename, f"{path}/append", f"{path}/other"),
            "link": error_of(os.link, f"{path}/append", f"{path}/other"),
            "symlink": error_of(os.symlink, "append", f"{path}/other"),
            "chmod": error_of(os.chmod, f"{path}/append", 0o600),
            "chown": error_of(os.chown, f"{path}/append", 1, 1),
            "utime": error_of(os.utime, f"{path}/append"),
            "open a record": error_of(os.open, f"{path}/offsets/0", os.O_WRONLY),
            "truncate a record": error_of(os.truncate, f"{path}/offsets/0", 0),
            "grow": error_of(os.truncate, f"{path}/append", 10),
            "setxattr": error_of(os.setxattr, f"{path}/offsets/0", "user.x", b"y"),
        }
        self.assertEqual({k: errno.errorcode.get(v) for k, v in refused.items()},
                         dict.fromkeys(refused, "EPERM"))
        run("rm", "-rf", f"{path}/offsets", check=False)
        self.assertEqual(read(self.partition, "00000000000000000000.log"), before)

    def test_a_seek_is_refused_and_truncation_means_nothing(self):
        self.append(b"a\n", flags=os.O_TRUNC)
        self.append(b"b\n", flags=os.O_TRUNC)
        os.truncate(self.mounted / "append", 0)
        handle = os.open(self.mounted / "append", os.O_WRONLY)
        self.addCleanup(os.close, handle)
        self.assertEqual(error_of(os.lseek, handle, 0, os.SEEK_SET), errno.ESPIPE)
        self.assertEqual(error_of(os.pwrite, handle, b"c\n", 0), errno.ESPIPE)
        self.assertEqual(self.mounted.text("records.values"), "a\nb\n")

    def test_tools_that_copy_in_odd_blocks(self):
        lines = b"".join(b"%d %s\n" % (i, b"x" * (i * 37 % 400)) for i in range(3000))
        with tempfile.NamedTemporaryFile() as file:
            file.write(lines)
            file.flush()
            expected = b""
            for command in (["cp", file.name, "append"],
                            ["dd", f"if={file.name}", "of=append", "bs=1013", "status=none"],
                            ["dd", f"if={file.name}", "of=append", "bs=3M", "status=none"],
                            ["dd", f"if={file.name}", "of=append", "bs=7777", "oflag=append,sync",
                             "conv=notrunc,fsync", "status=none"],
                            ["bash", "-c", f"cat {file.name} >> append"],
                            ["bash", "-c", f"tee -a append < {file.name} > /dev/null"],
                            ["python3", "-c", f"open('append', 'a').write(open('{file.name}').read())"]):
                run(*command, cwd=self.mounted.path)
                expected += lines
                self.assertEqual(self.mounted.read("records.values"), expected, command)
        self.assertEqual(self.mounted.complaints(), [])

    def test_concurrent_writers_never_interleave_within_a_line(self):
        script = """
import os, random, sys
name, seed = sys.argv[1], int(sys.argv[2])
random.seed(seed)
text = b"".join(b"%d %d %s\\n" % (seed, i, b"abc"[seed % 3:seed % 3 + 1] * random.randrange(300))
                for i in range(400))
handle = os.open(name, os.O_WRONLY | os.O_APPEND)
while text:
    text = text[os.write(handle, text[:random.randrange(1, 5000)]):]
os.close(handle)
"""
        writers = [subprocess.Popen(["python3", "-c", script, self.mounted / "append", str(seed)])
                   for seed in range(6)]
        for writer in writers:
            self.assertEqual(writer.wait(60), 0)
        following = dict.fromkeys(range(6), 0)
        for line in self.mounted.lines("records.values"):
            words = line.split(b" ")
            seed, number = int(words[0]), int(words[1])
            self.assertEqual(number, following[seed])
            self.assertLessEqual(set(words[2].strip()), set(b"abc"[seed % 3:seed % 3 + 1]))
            following[seed] += 1
        self.assertEqual(following, dict.fromkeys(range(6), 400))

    def test_a_line_is_unfinished_until_who_wrote_it_closes(self):
        # A child that ends closes the file that it shares with the shell.
        self.sh("{ printf abc; /bin/true; printf 'def\\n'; } >> append")
        self.assertEqual(self.mounted.text("records.values"), "abcdef\n")
        handle = os.open(self.mounted / "append", os.O_WRONLY)
        os.write(handle, b"half")
        os.fsync(handle)
        self.assertEqual(self.mounted.text("records.values"), "abcdef\n")
        os.close(handle)
        self.assertEqual(self.mounted.text("records.values"), "abcdef\nhalf\n")

    def test_objects_make_whole_records(self):
        self.append(b'{"key":"k","payload":"v","ts":1700000000000,"headers":["a","1"]}\n'
                    b'{"payload":null}\n\n{"key":"/w==","key_encoding":"base64","payload":""}',
                    "append.jsonl")
        first, second, third = self.mounted.objects("records.jsonl")
        self.assertEqual((first["key"], first["payload"], first["ts"], first["headers"]),
                         ("k", "v", 1700000000000, ["a", "1"]))
        self.assertEqual((second["key"], second["payload"]), (None, None))
        self.assertEqual(self.mounted.read("offsets/2.key"), b"\xff")
        self.assertEqual((third["payload"], third["key_encoding"]), ("", "base64"))

    def test_a_bad_object_fails_with_a_reason_and_leaves_nothing(self):
        good = b'{"payload":"a"}\n'
        handle = os.open(self.mounted / "append.jsonl", os.O_WRONLY)
        self.addCleanup(os.close, handle)
        self.assertEqual(os.write(handle, good + b'{"payload":7}\n' + good), len(good))
        self.assertEqual(error_of(os.write, handle, b'{"payload":7}\n' + good), errno.EINVAL)
        self.assertEqual(os.write(handle, good), len(good))
        self.assertEqual(self.mounted.text("records.values"), "a\na\n")
        self.assertEqual(len(self.mounted.complaints()), 1)
        self.assertIn('append.jsonl, line 2: column 12: "payload": expected a string or null, found '
                      'a number', self.mounted.complaints()[0])
        shown = self.sh("echo '{\"payload\":' > append.jsonl")
        self.assertIn(b"Invalid argument", shown.stderr)
        shown = self.sh("printf '{\"payload\":' > append.jsonl")  # told at the close, which bash asks
        self.assertEqual(self.mounted.text("records.values"), "a\na\n")

    def test_a_record_larger_than_the_log_takes_is_refused(self):
        self.assertEqual(error_of(self.append, b"x" * 1_100_000 + b"\n"), errno.EMSGSIZE)
        self.append(b"x" * 1_000_000 + b"\n")
        self.assertEqual(self.mounted.stat("offsets/0").st_size, 1_000_000)
        self.assertEqual(self.mounted.text("state/log_end_offset"), "1\n")

    def test_stats_count_what_was_written(self):
        self.append(b"one\ntwo\n")
        stats = dict(line.split() for line in self.mounted.text("stats").splitlines())
        self.assertEqual((stats["writes"], stats["written_bytes"]), ("1", "8"))


class OptionsTest(AppendTest):
    def batches(self, mounted):
        return mounted.objects("active/batches.jsonl")

    def test_keys_codec_and_batches(self):
        mounted = self.append_mount(self.create(), "key_separator=:", "compression=zstd",
                                    "batch.bytes=4096")
        with open(mounted / "append", "wb") as file:
            file.write(b"".join(b"k%d:value %d\n" % (i, i) for i in range(2000)))
        self.assertEqual(mounted.read("offsets/7.key"), b"k7")
        self.assertEqual(mounted.read("offsets/7"), b"value 7")
        batches = self.batches(mounted)
        self.assertEqual({batch["codec"] for batch in batches}, {"zstd"})
        self.assertGreater(len(batches), 5)
        self.assertEqual(error_of(mounted_write, mounted, b"no key\n"), errno.EINVAL)

    def test_the_topics_own_compression(self):
        mounted = self.append_mount(self.create(compression_type="lz4"))
        mounted_write(mounted, b"a\n" * 100)
        self.assertEqual([batch["codec"] for batch in self.batches(mounted)], ["lz4"])

    def test_lingering_lines_share_a_batch_and_are_there_at_the_close(self):
        mounted = self.append_mount(self.create(), "linger.ms=3600000")
        handle = os.open(mounted / "append", os.O_WRONLY)
        for i in range(10):
            os.write(handle, b"line %d\n" % i)
        self.assertEqual(mounted.text("state/log_end_offset"), "0\n")
        os.close(handle)
        self.assertEqual(mounted.text("state/log_end_offset"), "10\n")
        self.assertEqual(len(self.batches(mounted)), 1)

    def test_lingering_ends_by_itself(self):
        mounted = self.append_mount(self.create(), "linger.ms=20")
        handle = os.open(mounted / "append", os.O_WRONLY)
        self.addCleanup(os.close, handle)
        os.write(handle, b"line\n")
        wait_until(lambda: mounted.text("state/log_end_offset") == "1\n", "the linger to be over")

    def test_lingering_lines_are_in_the_log_after_the_unmount(self):
        partition = self.create()
        mounted = self.append_mount(partition, "linger.ms=3600000")
        handle = os.open(mounted / "append", os.O_WRONLY)
        os.write(handle, b"line\nhalf a li")
        mounted.close()
        error_of(os.close, handle)
        again = self.mount(partition)
        self.assertEqual(again.text("records.values"), "line\n")

    def test_append_time(self):
        mounted = self.append_mount(self.create(message_timestamp_type="LogAppendTime"))
        with open(mounted / "append.jsonl", "wb") as file:
            file.write(b'{"payload":"a","ts":1000}\n')
        record = mounted.json("last.json")
        self.assertEqual(record["tstype"], "logappend")
        self.assertGreater(record["ts"], 1_700_000_000_000)

    def test_rolls_and_retention(self):
        partition = self.create(segment_bytes=1 << 20, retention_bytes=1 << 20,
                                file_delete_delay_ms=100, segment_jitter_ms=0)
        mounted = self.append_mount(partition, "log.retention.check.interval.ms=50")
        line = b"x" * 999 + b"\n"
        for _ in range(5):
            mounted_write(mounted, line * 1000)

        def is_trimmed():
            names = [name for name in self.files(partition) if name.endswith((".log", ".deleted"))]
            return len(names) <= 2 and not any(name.endswith(".deleted") for name in names)
        wait_until(is_trimmed, "retention")
        start = int(mounted.text("state/log_start_offset"))
        self.assertGreater(start, 0)
        self.assertEqual(int(mounted.text("state/log_end_offset")), 5000)
        self.assertEqual(mounted.link("first"), f"offsets/{start}")
        self.assertEqual(len(mounted.lines("records.values")), 5000 - start)
        mounted.close()
        again = self.mount(partition)
        self.assertEqual(int(again.text("state/log_start_offset")), start)

    def test_the_high_watermark_is_the_end_of_what_was_written(self):
        partition = self.create(segment_bytes=1 << 20, retention_bytes=1 << 20, segment_jitter_ms=0)
        mounted = self.append_mount(partition, "until=high_watermark")
        for i in range(1, 4):
            mounted_write(mounted, b"x\n")
            self.assertEqual(mounted.text("state/high_watermark"), f"{i}\n")
            self.assertEqual(mounted.text("state/last_stable_offset"), f"{i}\n")
            self.assertEqual(mounted.link("last"), f"offsets/{i - 1}")
        self.assertEqual(mounted.text("records.values"), "x\nx\nx\n")
        line = b"x" * 999 + b"\n"
        for _ in range(4):
            mounted_write(mounted, line * 1000)
        self.assertEqual(mounted.text("state/high_watermark"), "4003\n")
        self.assertEqual(mounted.lookup("retention/next")["segment"], "0" * 20)
        self.assertNotIn("replica", mounted.text("retention/next"))

    def test_compaction_leaves_the_latest_of_every_key(self):
        partition = self.create(segment_bytes=1 << 20, cleanup_policy="compact",
                                min_cleanable_dirty_ratio="0.01", file_delete_delay_ms=0)
        mounted = self.append_mount(partition, "log.cleaner.backoff.ms=200")
        latest = {}
        with open(mounted / "append.jsonl", "w", encoding="utf-8", buffering=1 << 16) as log:
            for i in range(4000):
                key, value = f"k{i % 50}", f"{i}" + "v" * 1000
                latest[key] = value
                log.write(json.dumps({"key": key, "payload": value}) + "\n")

        def is_compacted():
            names = self.files(partition)
            sealed = [name for name in names if name.endswith(".log")][:-1]
            if any(name.endswith((".deleted", ".cleaned", ".swap")) for name in names):
                return False
            try:
                return sum(os.path.getsize(os.path.join(partition, name)) for name in sealed) < 1 << 19
            except FileNotFoundError:  # replaced just now
                return False
        wait_until(is_compacted, "a compaction")
        lines = [json.loads(line) for line in mounted.lines("records.jsonl")]
        self.assertLess(len(lines), 2000)
        self.assertEqual({line["key"]: line["payload"] for line in lines}, latest)
        self.assertEqual(mounted.text("state/log_end_offset"), "4000\n")
        self.assertIn("compacted", mounted.log())
        self.assertEqual(mounted.complaints(), [])
        mounted.close()
        again = self.mount(partition)
        self.assertEqual([json.loads(line) for line in again.lines("records.jsonl")], lines)

    def test_all_partitions_of_a_log_directory(self):
        for topic in ("orders", "audit"):
            self.create(topic)
        mounted = self.append_mount(f"{self.folder}/logs")
        for topic in ("orders", "audit"):
            with open(mounted / f"{topic}-0/append", "w", encoding="utf-8") as file:
                file.write(f"to {topic}\n")
            self.assertEqual(mounted.text(f"{topic}-0/last"), f"to {topic}")


def mounted_write(mounted, data):
    handle = os.open(mounted / "append", os.O_WRONLY)
    try:
        while data:
            data = data[os.write(handle, data):]
    finally:
        os.close(handle)


class DurabilityTest(AppendTest):
    def test_a_clean_end_leaves_the_mark_and_no_lock(self):
        partition = self.create()
        mounted = self.append_mount(partition)
        logs = os.path.dirname(partition)
        self.assertNotIn(".kafka_cleanshutdown", os.listdir(logs))
        self.assertIn(".lock", os.listdir(logs))
        mounted_write(mounted, b"one\n")
        mounted.close()
        self.assertIn(".kafka_cleanshutdown", os.listdir(logs))
        self.assertNotIn(".lock", os.listdir(logs))
        again = self.append_mount(partition)
        self.assertNotIn("recover", again.log())
        self.assertEqual(again.text("records.values"), "one\n")

    def numbered(self, mounted):
        """The lines `number length xxx`, each of which is whole and has its turn."""
        lines = mounted.text("records.values").splitlines()
        for number, line in enumerate(lines):
            words = line.split(" ")
            self.assertEqual((int(words[0]), words[2]), (number, "x" * int(words[1])))
        return lines

    @unittest.skipUnless(os.geteuid() == 0, "only root makes files for others")
    def test_what_root_makes_belongs_to_the_directorys_owner(self):
        partition = self.create(segment_bytes=1 << 20)
        logs = os.path.dirname(partition)
        run("chown", "-R", "65534:65533", logs)
        mounted = self.append_mount(partition)
        mounted_write(mounted, (b"x" * 999 + b"\n") * 3000)
        self.kill(mounted)
        again = self.append_mount(partition)
        mounted_write(again, b"more\n")
        again.close()
        owners = {(name, stat.st_uid, stat.st_gid) for folder in (logs, partition)
                  for name in os.listdir(folder)
                  for stat in [os.lstat(f"{folder}/{name}")]}
        self.assertGreater(len(owners), 12)
        self.assertEqual({(uid, gid) for _, uid, gid in owners}, {(65534, 65533)}, owners)

    def test_everything_synced_survives_kill_and_no_record_is_half(self):
        partition = self.create(segment_bytes=1 << 20)
        chance = random.Random(7)
        synced = 0
        for round_number in range(max(8 // SAMPLE, 2)):
            mounted = self.append_mount(partition, *(["linger.ms=1"] if round_number % 2 else []))
            known = self.numbered(mounted)
            self.assertGreaterEqual(len(known), synced)
            state = {"next": len(known), "synced": len(known), "stop": False}

            def write_and_sync(path=mounted / "append", state=state):
                try:
                    handle = os.open(path, os.O_WRONLY)
                    while not state["stop"]:
                        lines = b""
                        for _ in range(chance.randrange(1, 200)):
                            length = chance.randrange(500)
                            lines += b"%d %d %s\n" % (state["next"], length, b"x" * length)
                            state["next"] += 1
                        while lines:
                            lines = lines[os.write(handle, lines[:chance.randrange(1, 9000)]):]
                        os.fsync(handle)
                        state["synced"] = state["next"]
                except OSError:
                    pass
            writer = threading.Thread(target=write_and_sync)
            writer.start()
            goal = synced + chance.randrange(300, 3000)
            wait_until(lambda: state["synced"] > goal, "the writer")
            state["stop"] = True
            self.kill(mounted, writer.join)
            synced = state["synced"]
            self.assertIn(".lock", os.listdir(os.path.dirname(partition)))
        mounted = self.append_mount(partition)
        self.assertGreaterEqual(len(self.numbered(mounted)), synced)
        self.assertEqual(mounted.read("problems.jsonl"), b"")

    def test_a_partition_that_is_removed_takes_no_more_and_says_so(self):
        partition = self.create()
        mounted = self.append_mount(partition)
        handle = os.open(mounted / "append", os.O_WRONLY)
        os.write(handle, b"one\n")
        shutil.rmtree(partition)
        with self.assertRaises(OSError) as caught:
            os.fsync(handle)
        self.assertEqual(caught.exception.errno, errno.ESTALE)
        with self.assertRaises(OSError) as caught:
            os.write(handle, b"two\n")
        self.assertEqual(caught.exception.errno, errno.EIO)
        os.close(handle)
        self.assertIn("orders-0/00000000000000000000.log: was removed while it was written",
                      mounted.log())
        mounted.process.send_signal(signal.SIGINT)
        self.assertEqual(mounted.process.wait(), 2)  # not all is well
        mounted._clear()

    def test_a_full_disk_gives_enospc_and_leaves_the_log_whole(self):
        disk = f"{self.folder}/disk"
        os.mkdir(disk)
        try:
            run("mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", disk)
        except AssertionError as refused:
            raise unittest.SkipTest(f"no tmpfs can be mounted: {refused}")
        self.addCleanup(run, "umount", "-l", disk)
        partition = output(BINARY, "create", f"{disk}/logs", "--topic", "orders", "-o",
                           "segment.bytes=1048576").decode().strip()
        mounted = self.append_mount(partition)
        taken = []
        handle = os.open(mounted / "append", os.O_WRONLY)
        with self.assertRaises(OSError) as caught:
            while True:
                line = b"%d %s\n" % (len(taken), b"x" * 900)
                self.assertEqual(os.write(handle, line), len(line))
                taken.append(line)
        self.assertEqual(caught.exception.errno, errno.ENOSPC)
        self.assertGreater(len(taken), 3000)
        self.assertEqual(mounted.read("records.values"), b"".join(taken))
        self.assertEqual(mounted.read("problems.jsonl"), b"")
        # Room again: the same writer goes on.
        run("mount", "-o", "remount,size=8m", disk)
        for _ in range(1000):
            line = b"%d %s\n" % (len(taken), b"y" * 900)
            self.assertEqual(os.write(handle, line), len(line))
            taken.append(line)
        os.fsync(handle)
        os.close(handle)
        self.assertEqual(mounted.read("records.values"), b"".join(taken))
        mounted.close()
        again = self.append_mount(partition)
        self.assertEqual(again.read("records.values"), b"".join(taken))
        again.close()


class RefusalTest(AppendTest):
    def refused(self, source, *options):
        with tempfile.TemporaryDirectory() as folder:
            done = run(BINARY, source, folder, "-f", "-o", ",".join(("append", *options)),
                       check=False)
            self.assertEqual(done.returncode, 32, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            return done.stderr.decode()

    def test_a_directory_that_another_offsetfs_holds(self):
        partition = self.create()
        self.append_mount(partition)
        self.assertIn(".lock: held by another offsetfs", self.refused(partition))
        self.assertIn(".lock: held by another offsetfs", self.refused(os.path.dirname(partition)))
        self.assertIn(".lock: held by another offsetfs", self.refused(partition, "force"))

    def test_a_directory_that_a_broker_holds(self):
        partition = self.create()
        logs = os.path.dirname(partition)
        holder = subprocess.Popen(
            ["python3", "-c", "import fcntl,sys; f=open(sys.argv[1],'w'); "
             "fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()",
             f"{logs}/.lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(holder.communicate)
        holder.stdout.readline()
        self.assertIn(f".lock: held by process {holder.pid}", self.refused(partition))
        reading = self.mount(partition)  # who only looks need not ask
        self.assertEqual(reading.text("state/log_end_offset"), "0\n")

    def test_a_brokers_directory_needs_force(self):
        partition = self.copy("clean/orders-0", "orders-0")
        with open(f"{self.folder}/meta.properties", "w", encoding="utf-8") as file:
            file.write("version=1\nnode.id=1\ncluster.id=x\n")
        before = self.files(partition)
        said = self.refused(partition)
        self.assertIn("a broker writes here", said)
        self.assertIn("force", said)
        self.assertEqual(self.files(partition), before)
        self.assertNotIn(".lock", os.listdir(self.folder))
        mounted = self.append_mount(partition, "force", "retention.ms=-1")
        mounted_write(mounted, b"appended\n")
        self.assertEqual(mounted.read("offsets/500"), b"appended")

    def test_damage_is_not_written_over(self):
        partition = self.copy("clean/seg-demo-0", "seg-demo-0")
        log = f"{partition}/00000000000000001005.log"
        with open(log, "r+b") as file:
            file.seek(2000)
            file.write(b"\xff")
        before = read(log)
        self.assertIn("00000000000000001005.log", self.refused(partition))
        self.assertEqual(read(log), before)

    def test_what_is_refused_leaves_each_directory_as_it_was(self):
        logs = os.path.dirname(self.create())
        before = self.files(logs)
        self.assertIn(".kafka_cleanshutdown", before)
        second = output(BINARY, "create", f"{self.folder}/more", "--topic", "audit").decode().strip()
        self.append_mount(second)
        self.assertIn(".lock: held", self.refused(f"{logs},{self.folder}/more"))
        self.assertEqual(self.files(logs), before)
        for topic in ("__consumer_offsets", "__remote_log_metadata"):
            kafkas = f"{logs}/{topic}-0"
            run("cp", "-a", f"{logs}/orders-0", kafkas)
            before = self.files(logs)
            self.assertIn("of no topic of Kafka's own", self.refused(kafkas))
            self.assertEqual(self.files(logs), before)

    def test_options_of_appending_want_append(self):
        partition = self.create()
        for option in ("linger.ms=5", "batch.bytes=1M", "compression=zstd", "key_separator=:",
                       "force"):
            done = run(BINARY, partition, self.folder, "-f", "-o", option, check=False)
            self.assertEqual(done.returncode, 1, option)
            self.assertIn(b"without -o append", done.stderr)

    def test_segments_of_less_than_a_mebibyte_are_refused_in_kafkas_words(self):
        self.assertIn("Value must be at least 1048576",
                      self.refused(self.create(), "segment.bytes=1000"))


class CommandTest(AppendTest):
    """offsetfs append DIR."""

    def append(self, directory, data, *arguments):
        return run(BINARY, "append", directory, *arguments, stdin=data, check=False)

    def test_says_what_it_wrote_and_it_is_there(self):
        partition = self.create()
        done = self.append(partition, b"one\ntwo\nthree")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, b"orders-0: 3 records, offsets 0..2\n", b""))
        done = self.append(os.path.dirname(partition), b"four\n")  # the one log that it holds
        self.assertEqual(done.stdout, b"orders-0: 1 record, offset 3\n")
        self.assertEqual(self.append(partition, b"").stdout, b"orders-0: no records\n")
        self.assertEqual(self.mount(partition).text("records.values"), "one\ntwo\nthree\nfour\n")
        self.assertIn(".kafka_cleanshutdown", os.listdir(os.path.dirname(partition)))

    def test_keys_codec_and_batches(self):
        partition = self.create()
        self.append(partition, b"".join(b"k%d=v%d\n" % (i, i) for i in range(1000)),
                    "--key-separator", "=", "--compression", "gzip", "--batch-bytes", "2K")
        mounted = self.mount(partition)
        self.assertEqual(mounted.read("offsets/999.key"), b"k999")
        self.assertEqual({b["codec"] for b in mounted.objects("active/batches.jsonl")}, {"gzip"})
        self.assertGreater(len(mounted.objects("active/batches.jsonl")), 5)

    def test_a_bad_line_is_named_and_what_stands_before_it_is_in_the_log(self):
        partition = self.create()
        done = self.append(partition, b'{"payload":"a"}\n{"payload":"b"\n{"payload":"c"}\n', "--jsonl")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertIn(b"stdin, line 2: column 15: no JSON", done.stderr)
        self.assertIn(b"in the log: 1 record, offset 0", done.stderr)
        self.assertEqual(self.mount(partition).text("records.values"), "a\n")

    def test_a_line_without_key_for_a_compacted_log_is_named_and_takes_no_other_with_it(self):
        partition = self.create(cleanup_policy="compact")
        line = b'{"key":"k%d","payload":"v"}\n'
        before, behind = b"".join(line % i for i in range(900)), line % 900
        done = self.append(partition, before + b'{"payload":"v"}\n' + behind, "--jsonl")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(b"stdin, line 901: Compacted topic cannot accept message without key: ", done.stderr)
        self.assertIn(b"in the log: 900 records, offsets 0..899; mend it, ", done.stderr)
        self.append(partition, behind, "--jsonl")
        self.assertEqual(self.mount(partition).text("records.keys"),
                         "".join(f"k{i}\n" for i in range(901)))

    def test_refusals_are_one_line_with_a_cure(self):
        partition = self.create()
        self.create("audit")
        empty, node = f"{self.folder}/empty", f"{self.folder}/node"
        os.mkdir(empty)
        run(BINARY, "create", node, "--broker")
        free = output(BINARY, "create", f"{self.folder}/free", "--topic", "free").decode().strip()
        holder = self.append_mount(partition)
        for arguments, status, said in (
                ([], 1, "no DIR given"),
                ([os.path.dirname(partition)], 2, "holds 2 logs; give one of them, as "),
                ([self.folder + "/absent"], 2,
                 f"does not exist; make a log there: offsetfs create {self.folder}/absent --topic"),
                ([empty], 2, f"holds no log; make one: offsetfs create {empty} --topic TOPIC\n"),
                ([empty + "/orders-3/"], 2,
                 f"offsetfs create {empty}/ --topic orders --partition 3\n"),
                ([node], 2, f"holds no log; make one: offsetfs create {node} --topic TOPIC\n"),
                ([free, "-o", "segment.bytes=1000"], 2, "at least 1048576"),
                ([partition], 2, ".lock: held by another offsetfs"),
                ([partition], 2, "stop that one, or write through its mount\n"),
                ([partition, "--jsonl", "--key-separator", ":"], 1, "leave one out"),
                ([partition, "--compression", "xz"], 1, "expected none, gzip"),
                ([partition, "-o", "retention.mss=1"], 1, "did you mean retention.ms?")):
            done = run(BINARY, "append", *arguments, stdin=b"x\n", check=False)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            self.assertIn(said, done.stderr.decode())
        self.assertEqual(holder.read("records.values"), b"")

    def test_an_interrupt_ends_the_reading_and_the_log_is_closed_cleanly(self):
        partition = self.create()
        process = subprocess.Popen([BINARY, "append", partition], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(b"one\n")
        process.stdin.flush()
        log = f"{partition}/00000000000000000000.log"
        wait_until(lambda: os.path.getsize(log) > 0, "the first record")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 2)
        self.assertIn(b"in the log: 1 record, offset 0", said)
        self.assertIn(".kafka_cleanshutdown", os.listdir(os.path.dirname(partition)))

    def start(self, partition, first, wrapper=(), **more):
        """The command, with `first` read and its records in the log."""
        process = subprocess.Popen([*wrapper, BINARY, "append", partition], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        process.stdin.write(first)
        process.stdin.flush()
        log = f"{partition}/00000000000000000000.log"
        wait_until(lambda: os.path.getsize(log) > 0, "the first record")
        return process

    def test_a_line_that_an_interrupt_cut_off_is_no_record(self):
        partition = self.create()
        process = self.start(partition, b"one\ntw")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 2)
        self.assertIn(b"in the log: 1 record, offset 0", said)
        self.assertEqual(self.mount(partition).text("records.values"), "one\n")

    def test_who_ignores_hangups_has_a_command_that_does(self):
        partition = self.create()
        process = self.start(partition, b"one\n", wrapper=("nohup",))
        process.send_signal(signal.SIGHUP)
        said, _ = process.communicate(b"two\n", timeout=60)
        self.assertEqual((process.returncode, said), (0, b"orders-0: 2 records, offsets 0..1\n"))

    def small_disk(self, size):
        disk = f"{self.folder}/disk"
        os.mkdir(disk)
        try:
            run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk)
        except AssertionError as refused:
            raise unittest.SkipTest(f"no tmpfs can be mounted: {refused}")
        self.addCleanup(run, "umount", "-l", disk)
        return disk

    def test_who_goes_on_as_a_failure_says_has_every_line_once(self):
        disk = self.small_disk("1m")
        partition = output(BINARY, "create", f"{disk}/logs", "--topic", "orders").decode().strip()
        lines = [b"%d %s\n" % (number, b"x" * 900) for number in range(4000)]
        done = self.append(partition, b"".join(lines))
        self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(b"No space left on device", done.stderr)
        self.assertIn(b"go on behind that", done.stderr)
        count = int(re.search(rb"; in the log[^:]*: (\d+) records, offsets 0\.\.", done.stderr)[1])
        self.assertGreater(count, 100)
        run("mount", "-o", "remount,size=100m", disk)
        self.assertEqual(self.append(partition, b"".join(lines[count:])).returncode, 0)
        with self.mount(partition) as mounted:
            self.assertEqual(mounted.read("records.values"), b"".join(lines))

    def test_the_limit_of_a_files_size_is_a_line_too(self):
        partition = self.create()
        done = subprocess.run(
            [BINARY, "append", partition], input=(b"x" * 99 + b"\n") * 50_000, timeout=60,
            capture_output=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(b"File too large", done.stderr)

    def test_a_mount_outlives_the_limit_of_a_files_size(self):
        limit = 100_000
        partition = self.create()
        mounted = self.append_mount(partition, limits=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)))
        handle = os.open(mounted / "append", os.O_WRONLY)
        self.addCleanup(os.close, handle)
        taken = 0
        with self.assertRaises(OSError) as caught:
            while taken < 2 * limit:
                taken += os.write(handle, b"x" * 999 + b"\n")
        self.assertEqual(caught.exception.errno, errno.EFBIG)
        self.assertEqual(mounted.read("records.values"), (b"x" * 999 + b"\n") * (taken // 1000))


class NeverWrittenTest(AppendTest):
    """Without -o append there is no way to change a source."""

    def snapshot(self, folder):
        found = {}
        for path, _, names in os.walk(folder):
            for name in ["", *names]:
                full = os.path.join(path, name)
                stat = os.lstat(full)
                found[full] = (stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)
        return found

    def test_without_it_nothing_is_written_and_there_is_nothing_to_write_to(self):
        partition = self.create()
        with_append = self.append_mount(partition)
        mounted_write(with_append, b"one\ntwo")
        self.kill(with_append)  # there is something to be recovered
        before = self.snapshot(f"{self.folder}/logs")
        for source in (partition, os.path.dirname(partition)):
            mounted = self.mount(source, options=("rw", "segment.bytes=1048576"))
            below = "" if source == partition else "orders-0/"
            self.assertNotIn("append", mounted.names(below))
            for name in ("append", "append.jsonl"):
                self.assertEqual(error_of(os.open, mounted / (below + name), os.O_WRONLY),
                                 errno.ENOENT)
            self.assertEqual(error_of(os.open, mounted / (below + "offsets/0"), os.O_WRONLY),
                             errno.EROFS)
            self.assertEqual(error_of(os.mkdir, mounted / "new"), errno.EROFS)
            self.assertEqual(mounted.text(below + "records.values"), "one\ntwo\n")
            mounted.close()
        self.assertEqual(self.snapshot(f"{self.folder}/logs"), before)


class RoundTripTest(AppendTest):
    def test_the_lines_of_a_log_appended_to_another_give_the_same_lines(self):
        def comparable(line):
            record = json.loads(line)
            for assigned in ("topic", "offset", "tstype", "broker", "partition"):
                record.pop(assigned, None)
            return record
        for topic in sampled(["shapes", "orders", "codec-mixed", "txn"]):
            source = self.mount(f"{FIXTURES}/logs/clean/{topic}-0")
            target = self.append_mount(self.create(f"copy-of-{topic}", max_message_bytes=10 << 20))
            run("bash", "-c", f"cat {source / 'records.jsonl'} >> {target / 'append.jsonl'}")
            original, copied = source.lines("records.jsonl"), target.lines("records.jsonl")
            self.assertEqual(len(copied), len(original))
            self.assertEqual([comparable(line) for line in copied],
                             [comparable(line) for line in original])
            self.assertEqual(target.complaints(), [])
            target.close()
            source.close()

    def test_a_records_own_object_can_be_appended_too(self):
        source = self.mount(f"{FIXTURES}/logs/clean/shapes-0")
        target = self.append_mount(self.create(max_message_bytes=10 << 20))
        for name in sampled(source.names("offsets"))[:20]:
            run("cp", source / f"offsets/{name}.json", target / "append.jsonl")
            self.assertEqual(target.read("last"), source.read(f"offsets/{name}"))


if __name__ == "__main__":
    unittest.main()
