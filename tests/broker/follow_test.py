"""Followers beside a real broker that rolls, deletes, is killed and starts again: each gets every record
once and in order; one that is held back until retention has passed it goes on at the log start, and the
log says what it missed.

    OFFSETFS             the command to test
    OFFSETFS_BROKER_LIB  where the jars are, or are put (broker.py)
"""

import os
import re
import threading
import time

import broker
from beside_broker import BesideBrokerTest

FOLLOWERS = 8
ROUNDS = 24
RECORDS = 10_000  # a round


class Follower(threading.Thread):
    """Reads a `.tsv`, whose first column is the offset."""

    def __init__(self, path, size, until, lag=0):
        super().__init__()
        self.path, self.size, self.until, self.lag = path, size, until, lag
        self.count, self.gaps, self.last, self.error = 0, [], -1, None
        self.start()

    def run(self):
        try:
            with open(self.path, "rb", buffering=0) as file:
                rest = b""
                header = True
                while self.last < self.until:
                    data = file.read(self.size)
                    if not data:
                        raise EOFError("the stream ended")
                    lines = (rest + data).split(b"\n")
                    rest = lines.pop()
                    if header and lines:
                        header = lines.pop(0) != b"offset\ttimestamp\tkey\tvalue"
                    for line in lines:
                        self.take(int(line[:line.index(b"\t")]))
                    if self.lag:
                        time.sleep(self.lag)
        except (OSError, EOFError, ValueError) as error:
            self.error = error

    def take(self, offset):
        if self.last >= 0 and offset != self.last + 1:
            self.gaps.append((self.last + 1, offset - 1))
        self.last = offset
        self.count += 1


class FollowTest(BesideBrokerTest):
    settings = {"log.segment.delete.delay.ms": "500"}

    def test_every_follower_gets_every_record_once_over_kills_and_retention(self):
        # Retention keeps more than the slowest of the eight is behind: a round is about 2 MB.
        self.client.ask("create", "load", "segment.bytes=1048576", "retention.bytes=20000000",
                        "file.delete.delay.ms=500")
        self.client.ask("produce", "load", 10, 100)
        until = 10 + ROUNDS * RECORDS - 1
        file = os.path.join(self.path, "load-0/follow/0.tsv")
        followers = [Follower(file, [4096, 65536, 131072, 1 << 20][i % 4], until)
                     for i in range(FOLLOWERS)]
        held_back = Follower(file, 4096, until, lag=0.2)
        for done in range(ROUNDS):
            restart = threading.Thread(target=self.kill_in_the_midst_of_a_round)
            if done in (ROUNDS // 3, 2 * ROUNDS // 3):
                restart.start()
            self.client.ask("produce", "load", RECORDS, 200)
            if restart.ident is not None:
                restart.join()
            # The machine may be slow: it is the order that counts.
            deadline = time.monotonic() + broker.PATIENCE
            while min(f.last for f in followers) < (done - 2) * RECORDS:
                self.assertLess(time.monotonic(), deadline)
                self.assertEqual([f.error for f in followers], [None] * FOLLOWERS)
                time.sleep(0.01)
        for follower in followers:
            follower.join(broker.PATIENCE)
            self.assertIsNone(follower.error)
            self.assertEqual((follower.last, follower.count, follower.gaps), (until, until + 1, []))
        self.assertTrue(held_back.gaps)
        held_back.lag = 0
        held_back.join(broker.PATIENCE)
        self.assertEqual(held_back.last, until)
        missed = re.findall(r"load-0: a follower was passed by retention: it missed the offsets (\d+) "
                            r"to (\d+)", self.log())
        self.assertEqual([(int(a), int(b)) for a, b in missed], held_back.gaps)
        with open(os.path.join(self.path, "problems.jsonl"), encoding="utf-8") as problems:
            self.assertEqual(problems.read(), "")
        others = [line for line in self.log().splitlines()
                  if " info " not in line and "passed by retention" not in line]
        self.assertEqual(others, [])

    def kill_in_the_midst_of_a_round(self):
        time.sleep(0.1)
        self.kill_and_restart()


if __name__ == "__main__":
    broker.main()
