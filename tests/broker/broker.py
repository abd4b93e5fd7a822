"""A real broker for tests: Apache Kafka, fetched by its Maven coordinates (pom.xml), one KRaft node on
loopback. Needs java and mvn; where they are not, the tests say so and are skipped.

    OFFSETFS_BROKER_LIB  where the jars are, or are put
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LIB = os.path.abspath(os.environ.get("OFFSETFS_BROKER_LIB", os.path.join(HERE, "../../build/broker-lib")))
SKIPPED = 77  # an exit status that ctest knows
PATIENCE = 120  # seconds until something that should happen at once is called a hang

QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
TELLING = [
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.storage=info",
    "-Dorg.slf4j.simpleLogger.showThreadName=false",
]


def main():
    """Runs the tests of the script that calls this, or says why they are skipped."""
    lacking = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if not os.path.exists("/dev/fuse"):
        lacking.append("/dev/fuse")
    if lacking:
        print("SKIP: no " + ", ".join(lacking) + " here, so no broker can be run beside a mount")
        sys.exit(SKIPPED)
    fetch()
    unittest.main(verbosity=2)


def fetch():
    """The jars, once."""
    mark = os.path.join(LIB, ".complete")
    if os.path.exists(mark):
        return
    os.makedirs(LIB, exist_ok=True)
    subprocess.run(["mvn", "-q", "-B", "-f", os.path.join(HERE, "pom.xml"),
                    "dependency:copy-dependencies", f"-DoutputDirectory={LIB}"], check=True)
    open(mark, "w").close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Broker:
    """One node over `root`/logs. `settings` go into its server.properties. `made`: the node is there
    already, server.properties and all; `settings` override those."""

    def __init__(self, root, settings, made=False):
        self.root = root
        self.overrides = []
        self.log_dir = os.path.join(root, "logs")
        self.port, controller = free_port(), free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"
        self.config = os.path.join(root, "server.properties")
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": self.log_dir,
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            **settings,
        }
        self.log_path = os.path.join(root, "broker.log")
        self.process = None
        if made:
            self.config = os.path.join(self.log_dir, "server.properties")
            for key in ("controller.quorum.voters", "listeners", "advertised.listeners", *settings):
                self.overrides += ["--override", f"{key}={lines[key]}"]
            return
        with open(self.config, "w") as out:
            out.writelines(f"{key}={value}\n" for key, value in lines.items())
        self._java([QUIET], "kafka.tools.StorageTool", "format", "-t", "offsetfs-tests-AAAAAAAA"[:22],
                   "-c", self.config, check=True)

    def _command(self, options, *words):
        return ["java", "-Xmx512m", *options, "-cp", os.path.join(LIB, "*"), *words]

    def _java(self, options, *words, check=False):
        return subprocess.run(self._command(options, *words), stdout=subprocess.DEVNULL, check=check)

    def start(self):
        log = open(self.log_path, "ab")
        self.process = subprocess.Popen(self._command(TELLING, "kafka.Kafka", self.config, *self.overrides),
                                        stdout=log, stderr=log)
        log.close()
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError("the broker ended: " + self.log()[-2000:])
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("the broker does not listen: " + self.log()[-2000:])

    def stop(self, kill=False):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        self.process.wait(PATIENCE)
        self.process = None

    def log(self):
        with open(self.log_path, errors="replace") as text:
            return text.read()

    def deletion_reasons(self, partition):
        """base offset -> "log start", "size" or "time", as the broker itself gave them."""
        reasons = {}
        pattern = re.compile(r"Deleting segments? .*?due to (log retention time|log retention size|log start offset)"
                             r"|Deleting segment .*?(retention time|retention size|start offset)")
        for line in self.log().splitlines():
            if partition not in line or "Deleting segment" not in line:
                continue
            found = pattern.search(line)
            if not found:
                continue
            text = found.group(0)
            rule = "time" if "time" in text else "size" if "size" in text else "log start"
            for base in re.findall(r"baseOffset=(\d+)", line):
                reasons.setdefault(int(base), rule)
        return reasons


class Client:
    """Client.java, kept running."""

    def __init__(self, bootstrap):
        self.process = subprocess.Popen(
            ["java", "-Xmx256m", QUIET, "-cp", os.path.join(LIB, "*"), os.path.join(HERE, "Client.java"),
             bootstrap], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()

    def ask(self, *words):
        with self.lock:
            self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().rstrip("\n")
        if not answer.startswith("ok"):
            raise RuntimeError(f"{words}: {answer}")
        return answer[3:]

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
