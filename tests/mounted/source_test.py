"""What the mount does to its source: nothing."""

import ctypes
import hashlib
import mmap
import os
import unittest

from mounted import CopyTest, answer_topics, read, run

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
LIBC.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def fingerprint(folder):
    """Names, kinds, modes, sizes, mtimes and contents of all that lies below."""
    digest = hashlib.sha256()
    for path, folders, files in sorted(os.walk(folder)):
        for name in sorted(folders + files) + ["."]:
            entry = os.path.join(path, name)
            stat = os.lstat(entry)
            digest.update(f"{entry} {stat.st_mode} {stat.st_size} {stat.st_mtime_ns} "
                          f"{stat.st_blocks}\n".encode())
            if name in files:
                digest.update(read(entry))
    return digest.hexdigest()


def resident_pages(path):
    """One byte a page: whether it is in the page cache."""
    size = os.path.getsize(path)
    if size == 0:
        return b""
    pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
    fd = os.open(path, os.O_RDONLY)
    try:
        at = LIBC.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
        vector = ctypes.create_string_buffer(pages)
        if LIBC.mincore(at, size, vector) != 0:
            raise OSError(ctypes.get_errno(), path)
        LIBC.munmap(at, size)
        return bytes(page & 1 for page in vector.raw)
    finally:
        os.close(fd)


def forget_pages(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def use_everything(mount):
    """Every listed file is read and described, and every stream that is not listed."""
    run("find", mount.path, "-ls")
    run("grep", "-rc", "zzz", mount.path, check=False)
    run("tar", "-cf", "/dev/null", "-C", mount.path, ".")
    for topic in answer_topics("clean"):
        for suffix in ("jsonl", "values", "keys", "tsv"):
            read(mount / f"{topic}-0/records.{suffix}")
        read(mount / f"{topic}-0/time/0.lookup")


class UntouchedTest(CopyTest):
    def test_names_contents_and_times_stay_as_they_were(self):
        source = self.copy("clean", "source")
        before = fingerprint(source)
        mount = self.mount(source)
        use_everything(mount)
        mount.close()
        self.assertEqual(fingerprint(source), before)

    def test_the_same_of_a_damaged_and_a_killed_one(self):
        source = self.copy("killed", "source")
        with open(f"{source}/seg-demo-0/00000000000000000000.log", "r+b") as file:
            file.seek(50_000)
            file.write(b"damage")
        before = fingerprint(source)
        mount = self.mount(source)
        run("grep", "-rc", "zzz", mount.path, check=False)
        mount.close()
        self.assertEqual(fingerprint(source), before)

    def test_a_source_on_a_read_only_mount_is_served(self):
        # Nothing may be written, so nothing needs to be: `chmod` says the same to an ordinary user.
        source = self.copy("clean", "source")
        run("chmod", "-R", "a-w", source)
        self.addCleanup(run, "chmod", "-R", "u+w", source)
        mount = self.mount(source)
        use_everything(mount)
        self.assertEqual(mount.complaints(), [])


class PageCacheTest(CopyTest):
    """Reading all of a source leaves its page cache as it was."""

    def files(self, source):
        return sorted(os.path.join(path, name) for path, _, files in os.walk(source)
                      for name in files if name.endswith((".log", "index")))

    def test_cold_pages_stay_cold_and_warm_ones_warm(self):
        source = self.copy("clean", "source")
        run("sync", "-f", source)
        files = self.files(source)
        warm = [f for f in files if "/seg-demo-0/" in f]
        half = os.path.join(source, "trimmed-0/00000000000000001024.log")
        for path in files:
            forget_pages(path)
        for path in warm:
            read(path)
        with open(half, "rb") as file:  # a piece in the middle
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            os.pread(file.fileno(), 200_000, 400_000)
        before = {path: resident_pages(path) for path in files}
        if not any(0 in pages for pages in before.values()):
            self.skipTest("this file system keeps every page (tmpfs)")
        mount = self.mount(source)
        use_everything(mount)
        resident = lost = 0
        for path in files:
            after = resident_pages(path)
            resident += before[path].count(1)
            lost += sum(1 for was, now in zip(before[path], after) if was and not now)
            kept = [i for i, (was, now) in enumerate(zip(before[path], after)) if now and not was]
            self.assertEqual(kept, [], f"pages of {os.path.relpath(path, source)} that were not resident")
        # Kernels take a page now and then by themselves, in virtual machines whose host wants memory
        # back even from files that nobody touches. Dropping what was there would take them all.
        self.assertGreater(resident, 1000)
        self.assertLess(lost, resident / 100)


if __name__ == "__main__":
    unittest.main()
