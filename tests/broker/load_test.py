"""A mount under load, beside a real broker that rolls, deletes, is killed and starts again: a producer at
50,000 records a second for a minute and then as fast as it goes, eight followers, four tails and four
random readers, all of which know every byte that they should get (load_reader.cc); and one more follower
that is held back until retention has passed it.

    OFFSETFS             the command to test
    LOAD_READER          the readers
    OFFSETFS_BROKER_LIB  where the jars are, or are put (broker.py)
    LOAD_SECONDS         of the steady load (60); a third of it for the load at full speed
"""

import json
import mmap
import os
import re
import statistics
import struct
import subprocess
import threading
import time

import broker
from beside_broker import BesideBrokerTest

LOAD_READER = os.path.abspath(os.environ.get("LOAD_READER", "../../build/tests/load_reader"))
STEADY_SECONDS = int(os.environ.get("LOAD_SECONDS", "60"))
FULL_SECONDS = STEADY_SECONDS // 3
RATE = 50_000

# A record takes about 110 bytes of a segment. The producer waits for a follower that is further behind
# than LEAD: it is the bytes that are tested here, not how fast this machine is.
KEPT_BYTES = 64 << 20
LEAD = 250_000

# Slots as load_reader.cc has them: what the harness says, then one for each reader.
END, STOP, RELEASE, TIME, FOLLOWERS = 0, 1, 2, 3, 4
TAILS = FOLLOWERS + 8
RANDOM = TAILS + 4
HELD = RANDOM + 4
SLOT_COUNT = 32

MEMORY_MIB = 96  # resident, at any moment
GROWTH_MIB = 16  # from the first third to the last


class Slots:
    def __init__(self, path):
        self.path = path
        with open(path, "w+b") as file:
            file.write(struct.pack(f"<{SLOT_COUNT}q", -1, 0, 0, time.time_ns() // 1_000_000,
                                   *[-1] * (SLOT_COUNT - FOLLOWERS)))
            file.flush()
            self.map = mmap.mmap(file.fileno(), 0)

    def __getitem__(self, slot):
        return struct.unpack_from("<q", self.map, 8 * slot)[0]

    def __setitem__(self, slot, value):
        struct.pack_into("<q", self.map, 8 * slot, value)


class Memory(threading.Thread):
    """What a process holds, ten times a second."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.mib, self.ended = pid, [], False
        self.start()

    def run(self):
        while not self.ended:
            try:
                with open(f"/proc/{self.pid}/status", encoding="utf-8") as status:
                    self.mib += [int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS")]
            except OSError:
                return  # it ended; that is somebody else's finding
            time.sleep(0.1)


class LoadTest(BesideBrokerTest):
    def setUp(self):
        super().setUp()
        self.slots = Slots(os.path.join(self.root, "slots"))
        self.partition = os.path.join(self.path, "load-0")
        self.processes = []
        self.addCleanup(self.kill_all)

    def kill_all(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe:
                    pipe.close()

    def reader(self, what, slot, *words, stdin=subprocess.DEVNULL):
        process = subprocess.Popen([LOAD_READER, what, self.slots.path, str(slot), *words], stdin=stdin,
                                   stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def followers(self):
        suffixes = ["tsv", "jsonl", "values", "values", "tsv", "jsonl", "values", "tsv"]
        return [self.reader("follow", FOLLOWERS + i, f"{self.partition}/follow/0.{suffix}", suffix)
                for i, suffix in enumerate(suffixes)]

    def tails(self):
        """`tail -F`, which goes from segment to segment by the name `active`."""
        tails, readers = [], []
        for i, suffix in enumerate(["jsonl", "values", "jsonl", "values"]):
            with open(os.path.join(self.root, f"tail-{i}"), "wb") as said:
                tail = subprocess.Popen(
                    ["tail", "-n", "1", "-s", "0.02", "--max-unchanged-stats=2", "-F",
                     f"{self.partition}/active/records.{suffix}"], stdout=subprocess.PIPE, stderr=said)
            self.processes.append(tail)
            tails.append(tail)
            readers.append(self.reader("tail", TAILS + i, suffix, stdin=tail.stdout))
        return tails, readers

    def random_readers(self):
        return [self.reader("random", RANDOM + i, self.partition, str(i)) for i in range(4)]

    def produce(self, seconds, count, rate, first):
        """The next number."""
        began = time.monotonic()
        next_number, waited = map(int, self.client.ask(
            "load", "load", seconds, count, rate, first, self.slots.path, FOLLOWERS, TAILS, LEAD).split())
        took = time.monotonic() - began
        if count > 1000:
            print(f"{next_number - first} records in {took:.1f} s: {(next_number - first) / took:.0f} a second"
                  f" ({rate or 'as many as possible'} wanted); {waited / 1000:.1f} s waited for followers",
                  flush=True)
        return next_number

    def kill_and_restart_in(self, seconds):
        def run():
            time.sleep(seconds)
            self.kill_and_restart()
        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def told(self, process):
        answer = json.loads(process.communicate(timeout=broker.PATIENCE)[0])
        print(" ".join(process.args[1:2]), json.dumps(answer), flush=True)
        self.assertEqual((answer["error"], process.returncode), ("", 0), self.log()[-2000:])
        return answer

    def test_every_reader_gets_the_right_bytes_over_rolls_retention_and_kills(self):
        self.client.ask("create", "load", "segment.bytes=1048576", f"retention.bytes={KEPT_BYTES}",
                        "retention.ms=-1", "file.delete.delay.ms=1000")
        number = self.produce(10, 1000, 0, 0)
        followers = self.followers()
        held = self.reader("follow", HELD, f"{self.partition}/follow/0.tsv", "tsv", "hold")
        tails, tail_readers = self.tails()
        random_readers = self.random_readers()
        memory = Memory(self.daemon.pid)

        for seconds, rate in ((STEADY_SECONDS, RATE), (FULL_SECONDS, 0)):
            restart = self.kill_and_restart_in(seconds / 3)
            number = self.produce(seconds, 1 << 40, rate, number)
            restart.join()
        deadline = time.monotonic() + broker.PATIENCE
        while self.log_start() < self.slots[HELD] + LEAD:  # a slow machine made too little until now
            self.assertLess(time.monotonic(), deadline, "retention did not pass the held follower")
            number = self.produce(10, 200_000, 0, number)
        self.slots[RELEASE] = 1
        self.slots[END] = number
        self.produce(10, 1, 0, number)  # wakes those who wait at the end

        for follower in followers:
            told = self.told(follower)
            self.assertEqual((told["last"], told["records"], told["jumps"]), (number, number + 1, 0))
        told = self.told(held)
        missed = re.findall(r"load-0: a follower was passed by retention: it missed the offsets (\d+) "
                            r"to (\d+)", self.log())
        self.assertTrue(missed)
        self.assertEqual([[int(a), int(b)] for a, b in missed], told["gaps"])
        self.assertEqual(told["last"], number)
        self.wait_until(lambda: any(reader.poll() is not None for reader in tail_readers) or
                        min(self.slots[TAILS + i] for i in range(4)) == number,
                        "the tails have the last record")
        self.slots[STOP] = 1
        for tail, reader in zip(tails, tail_readers):
            tail.terminate()
            self.told(reader)
        for i in range(4):
            with open(os.path.join(self.root, f"tail-{i}"), encoding="utf-8") as said:
                others = [line for line in said if not re.search(
                    r"has been replaced;|has appeared;|has become accessible|No such file or directory", line)]
            self.assertEqual(others, [])
        gone = [self.told(reader) for reader in random_readers]
        self.assertGreater(min(told["lookups"] for told in gone), 0)
        self.assertGreater(sum(told["kept"] for told in gone), 0)
        self.check_memory(memory)
        self.check_log()

    def log_start(self):
        with open(os.path.join(self.partition, "state/log_start_offset"), encoding="utf-8") as text:
            return int(text.read())

    def check_memory(self, memory):
        memory.ended = True
        memory.join()
        third = len(memory.mib) // 3
        first, last = (statistics.median(part) for part in (memory.mib[:third], memory.mib[-third:]))
        print(f"offsetfs: {first:.1f} MiB resident in the first third, {last:.1f} in the last, "
              f"at most {max(memory.mib):.1f}", flush=True)
        self.assertLess(max(memory.mib), MEMORY_MIB)
        self.assertLess(last - first, GROWTH_MIB)

    def check_log(self):
        """The log is healthy, and nothing else is said of it."""
        with open(os.path.join(self.path, "problems.jsonl"), encoding="utf-8") as problems:
            self.assertEqual(problems.read(), "")
        self.assertEqual([line for line in self.log().splitlines()
                          if " info " not in line and "passed by retention" not in line], [])


if __name__ == "__main__":
    broker.main()
