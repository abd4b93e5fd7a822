"""What the mounted tests share: starting offsetfs on a source, ending it, asking it, and the answers
that Kafka gave of the fixtures (tests/data/README.md).

    OFFSETFS           the command to test
    OFFSETFS_FIXTURES  where the build unpacked the fixtures
    OFFSETFS_SAMPLE    look at every n-th record where a test would look at all (sanitized builds are
                       slow); 1 by default

Run one file with `python3 -m unittest -v records_test` in this directory, or all through ctest.
"""

import errno
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.path.abspath(os.environ.get("OFFSETFS", "../../build/offsetfs"))
FIXTURES = os.path.abspath(os.environ.get("OFFSETFS_FIXTURES", "../../build/fixtures"))
SAMPLE = int(os.environ.get("OFFSETFS_SAMPLE", "1"))
SANITIZED = SAMPLE > 1
PATIENCE = 60  # seconds until something that should happen at once is called a hang
SKIPPED = 77  # what ctest takes for "skipped"

# A script's `&` starts its commands with interrupts ignored, and all below would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def fixture(name):
    """A data directory written by a broker: "clean", "live", "killed", "v0", "v1", "v1v2"."""
    return os.path.join(FIXTURES, "logs", name)


def sampled(items):
    """Every n-th of them, and the last."""
    items = list(items)
    kept = items[::SAMPLE]
    if items and kept[-1] is not items[-1]:
        kept.append(items[-1])
    return kept


# --- answers -------------------------------------------------------------------------------------

def _bytes(value):
    import base64
    if value is None:
        return None
    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    return value.encode()


@functools.lru_cache(maxsize=None)
def _answer_lines(name, topic, kind):
    path = os.path.join(FIXTURES, "expected", name, f"{topic}.{kind}")
    with open(path, "rb") as file:
        return file.read().splitlines(keepends=True)


def answer_topics(name):
    ending = ".records.jsonl"
    files = os.listdir(os.path.join(FIXTURES, "expected", name))
    return sorted(f[: -len(ending)] for f in files if f.endswith(ending))


@functools.lru_cache(maxsize=None)
def answer_records(name, topic, kind="records.jsonl"):
    """What a consumer read: dictionaries with bytes or None as key, value and header values."""
    records = [json.loads(line) for line in _answer_lines(name, topic, kind)]
    for record in records:
        record["key"] = _bytes(record["key"])
        record["value"] = _bytes(record["value"])
        record["headers"] = [(_bytes(k), _bytes(v)) for k, v in record["headers"]]
    return records


def answer_times(name, topic):
    return [json.loads(line) for line in _answer_lines(name, topic, "times.jsonl")]


def answer_kcat(name, topic):
    """The very lines of kcat -C -J, with their newlines."""
    return _answer_lines(name, topic, "kcat.jsonl")


def answer_offsets(name, topic):
    return json.loads(b"".join(_answer_lines(name, topic, "offsets.json")))


def answer_dump(name, partition_dir, file):
    """kafka-dump-log's lines of one file as dictionaries of text; None if it was not asked."""
    path = os.path.join(FIXTURES, "expected", name, f"{partition_dir}+{file}.dump")
    if not os.path.exists(path):
        return None
    lines = []
    with open(path, encoding="utf-8") as dump:
        for line in dump:
            words = line.split()
            if line.startswith("Log starting") or len(words) % 2 or not words[0].endswith(":"):
                continue
            lines.append({words[i][:-1]: words[i + 1] for i in range(0, len(words), 2)})
    return lines


def is_text(data):
    """Whether kcat can print it: null or UTF-8."""
    if data is None:
        return True
    try:
        data.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def is_plain(record):
    """Whether kcat prints valid JSON for the record."""
    parts = [record["key"], record["value"]]
    for key, value in record["headers"]:
        parts += [key, value]
    return all(is_text(part) for part in parts)


# --- processes -----------------------------------------------------------------------------------

def run(*command, check=True, cwd=None, stdin=None, env=None, timeout=PATIENCE):
    """The finished process with stdout and stderr as bytes."""
    done = subprocess.run(command, capture_output=True, cwd=cwd, input=stdin, env=env,
                          timeout=timeout, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: "
                             f"{done.stderr.decode(errors='replace')[:2000]}")
    return done


def output(*command, **more):
    return run(*command, **more).stdout


def read(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def read_text(*parts):
    return read(*parts).decode()


def read_json(*parts):
    return json.loads(read(*parts))


def read_lines(*parts):
    return read(*parts).splitlines(keepends=True)


def error_of(call, *arguments):
    """The errno a call fails with; 0 if it does not fail."""
    try:
        call(*arguments)
    except OSError as error:
        return error.errno
    return 0


def wait_until(condition, what):
    """Polls, since nothing tells; gives up only when it surely hangs."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(f"waited {PATIENCE} s for {what}")


def is_mounted(path):
    """Asks the mount table, not the mount: a dead one answers nothing."""
    real = os.path.realpath(os.path.dirname(path)) + "/" + os.path.basename(path)
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        return any(line.split(" ")[4] == real.replace(" ", "\\040") for line in table)


class Mount:
    """offsetfs in the foreground on a mount point of its own, until close()."""

    def __init__(self, *sources, options=(), arguments=(), environment=None, limits=None,
                 wrapper=()):
        self.sources = [str(source) for source in sources]
        self.folder = tempfile.mkdtemp(prefix="offsetfs-test-")
        os.chmod(self.folder, 0o755)
        self.path = os.path.join(self.folder, "mnt")
        self.log_path = os.path.join(self.folder, "log")
        os.mkdir(self.path)
        command = [*wrapper, BINARY, *self.sources, self.path, "-f", *arguments]
        if options:
            command += ["-o", ",".join(options)]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=limits,
                env={**os.environ, **(environment or {})})
        try:
            wait_until(lambda: is_mounted(self.path) or self.process.poll() is not None, "the mount")
            if not is_mounted(self.path):
                raise AssertionError(f"{command} ended with {self.process.returncode}: {self.log()}")
        except BaseException:
            self._clear()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def complaints(self):
        """Log lines above `info`, and what a sanitizer says."""
        def is_complaint(line):
            words = line.split(" ", 2)
            return len(words) < 2 or words[1] != "info"
        return [line for line in self.log().splitlines() if is_complaint(line)]

    def memory_kib(self, field="VmRSS"):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
        raise AssertionError(f"no {field}")

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def close(self):
        """Ends it as Ctrl-C does; it must go in peace and take its mount along."""
        if self.process is None:
            return
        try:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGINT)
            self.process.wait(PATIENCE)
            status, left = self.process.returncode, is_mounted(self.path)
            log = self.log()
        finally:
            self._clear()
        if status != 0 or left:
            raise AssertionError(f"offsetfs ended with {status}"
                                 f"{' and left its mount behind' if left else ''}: {log[-4000:]}")

    def _clear(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process = None
        while is_mounted(self.path):
            if subprocess.run(["umount", "-l", self.path], check=False).returncode != 0 and \
               subprocess.run(["fusermount3", "-u", "-z", self.path], check=False).returncode != 0:
                break
        shutil.rmtree(self.folder, ignore_errors=True)

    def __truediv__(self, below):
        return os.path.join(self.path, str(below))

    # The common questions, by path below the mount point.
    def read(self, below):
        return read(self.path, str(below))

    def text(self, below):
        return read_text(self.path, str(below))

    def json(self, below):
        return read_json(self.path, str(below))

    def lines(self, below):
        return read_lines(self.path, str(below))

    def objects(self, below):
        return [json.loads(line) for line in self.lines(below)]

    def table(self, below):
        """A .tsv with its header line, as dictionaries of text."""
        names, *rows = [line.split("\t") for line in self.text(below).splitlines()]
        return [dict(zip(names, row)) for row in rows]

    def link(self, below):
        return os.readlink(self / below)

    def names(self, below=""):
        return sorted(os.listdir(self / below))

    def stat(self, below):
        return os.lstat(self / below)

    def error(self, below):
        """The errno of reading a file to its end."""
        return error_of(self.read, below)

    def lookup(self, below):
        """`key: value` lines as a dictionary."""
        return dict(line.split(": ", 1) for line in self.text(below).splitlines())


class MountedTest(unittest.TestCase):
    """A test class over one shared mount of an untouched fixture. Subclasses set `source` (below
    the fixtures) and `options`. A healthy log is shown without a single warning."""

    source = None
    options = ()

    @classmethod
    def setUpClass(cls):
        if cls.source is None:
            raise unittest.SkipTest("a base class")
        cls.mount = Mount(fixture(cls.source), options=cls.options)
        cls.addClassCleanup(cls.mount.close)

    @classmethod
    def tearDownClass(cls):
        complaints = cls.mount.complaints()
        problems = cls.mount.read("problems.jsonl")
        if complaints or problems:
            raise AssertionError(f"{cls.source} is healthy, yet: {complaints} {problems!r}")


class FixtureTests:
    """What is to hold in every fixture: tests that are mixed into a MountedTest for each of them, which
    sets `name`."""

    name = None

    @classmethod
    def setUpClass(cls):
        cls.source = cls.name
        super().setUpClass()

    def each_topic(self):
        """Partition, topic, and the records that a consumer reads of it."""
        for topic in answer_topics(self.name):
            yield f"{topic}-0", topic, answer_records(self.name, topic)


class CopyTest(unittest.TestCase):
    """A test class whose tests change copies of the fixtures."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="offsetfs-copy-")
        os.chmod(self.folder, 0o755)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def copy(self, below, name=None):
        """A copy of a directory below the fixtures, mtimes kept, that may be changed."""
        target = os.path.join(self.folder, name or os.path.basename(below))
        run("cp", "-a", "--sparse=always", os.path.join(FIXTURES, "logs", below), target)
        return target

    def mount(self, *sources, **more):
        mount = Mount(*sources, **more)
        self.addCleanup(mount.close)
        return mount


def main():
    """Runs the test file that was named on the command line; ctest calls this."""
    if not os.path.exists("/dev/fuse"):
        print("SKIP: /dev/fuse is absent here, so nothing can be mounted")
        sys.exit(SKIPPED)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    unittest.main(module=sys.argv.pop(1), verbosity=2)


ENOENT, EIO, EROFS, EACCES, EFBIG, ESTALE = (
    errno.ENOENT, errno.EIO, errno.EROFS, errno.EACCES, errno.EFBIG, errno.ESTALE)

if __name__ == "__main__":
    # Run as the module of that name, so that test files that import it share one copy.
    import mounted
    mounted.main()
