"""Makes record batches of magic 2, to append to copies of logs and to build damaged ones.

    base_offset: i64  batch_length: i32  partition_leader_epoch: i32  magic: i8  crc: u32
    attributes: i16  last_offset_delta: i32  base_timestamp: i64  max_timestamp: i64
    producer_id: i64  producer_epoch: i16  base_sequence: i32  records_count: i32  records
"""

import gzip
import struct

_TABLE = []
for _n in range(256):
    for _ in range(8):
        _n = _n >> 1 ^ (0x82F63B78 if _n & 1 else 0)
    _TABLE.append(_n)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def varint(number):
    number = number << 1 ^ number >> 63
    number &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(data):
    return varint(-1) if data is None else varint(len(data)) + data


def record(delta, value, key=None, headers=(), timestamp_delta=0):
    body = b"\0" + varint(timestamp_delta) + varint(delta) + _field(key) + _field(value)
    body += varint(len(headers))
    for name, content in headers:
        body += varint(len(name)) + name + _field(content)
    return varint(len(body)) + body


def batch_of(base_offset, records, count, timestamp, codec=0, leader_epoch=0):
    """A batch whose records section is given as bytes, compressed already."""
    body = struct.pack(">hiqqqhii", codec, count - 1, timestamp, timestamp, -1, -1, -1, count)
    body += records
    return struct.pack(">qiibI", base_offset, len(body) + 9, leader_epoch, 2, crc32c(body)) + body


def batch(base_offset, values, timestamp=1_800_000_000_000, codec=0, keys=None, leader_epoch=0):
    """A batch of these values; codec 0 (none) or 1 (gzip)."""
    records = b"".join(record(i, value, keys[i] if keys else None)
                       for i, value in enumerate(values))
    if codec == 1:
        records = gzip.compress(records)
    return batch_of(base_offset, records, len(values), timestamp, codec, leader_epoch)


def repeated(template, records, times, base_offset=0):
    """The same batch over and over, at offsets that follow each other: the CRC leaves them out."""
    for i in range(times):
        yield struct.pack(">q", base_offset + i * records) + template[8:]


def write_log(directory, batches, base_offset=0):
    """A segment made of these batches, without indexes: they are hints and may be missing."""
    path = f"{directory}/{base_offset:020d}.log"
    with open(path, "wb") as log:
        for entry in batches:
            log.write(entry)
    return path
