"""What the tests share that follow a broker's work through a mount: one broker, a mount of all its logs,
and an end that fails if the mount did not live until then.

    OFFSETFS  the command to test
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import broker

OFFSETFS = os.path.abspath(os.environ.get("OFFSETFS", "../../build/offsetfs"))


class BesideBrokerTest(unittest.TestCase):
    settings = {}  # of the broker, more than these

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="offsetfs-broker-")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.broker = broker.Broker(self.root, {
            "log.retention.check.interval.ms": "500",
            "log.initial.task.delay.ms": "500",
            **self.settings,
        })
        self.addCleanup(self.broker.stop)
        self.broker.start()
        self.client = broker.Client(self.broker.bootstrap)
        self.addCleanup(self.client.close)
        self.mount()

    def mount(self):
        self.path = os.path.join(self.root, "mnt")
        os.mkdir(self.path)
        self.log_path = os.path.join(self.root, "offsetfs.log")
        with open(self.log_path, "wb") as log:
            self.daemon = subprocess.Popen([OFFSETFS, self.broker.log_dir, self.path, "-f"],
                                           stdout=log, stderr=log)
        self.addCleanup(self.unmount)
        self.wait_until(lambda: os.path.ismount(self.path), "the mount is there")

    def unmount(self):
        if self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(broker.PATIENCE), 0)

    def wait_until(self, what, name):
        deadline = time.monotonic() + broker.PATIENCE
        while not what():
            self.assertIsNone(self.daemon.poll(), "offsetfs ended")
            self.assertLess(time.monotonic(), deadline, f"never: {name}; {self.log()[-2000:]}")
            time.sleep(0.01)

    def log(self):
        with open(self.log_path, encoding="utf-8") as log:
            return log.read()

    def kill_and_restart(self):
        self.broker.stop(kill=True)
        self.broker.start()
