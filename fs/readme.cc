#include "fs/readme.h"

namespace offsetfs::fs {

std::string_view partition_readme() {
  return R"(This directory shows the log of one Kafka partition as files. It is read only, but for append and
append.jsonl, and what it shows is read from the log when it is asked for. Not every name is listed; all below exist.

Records
  cat offsets/42                    the value of the record at offset 42, exactly its bytes
  jq . offsets/42.json              the whole record: key, headers, timestamp, and its batch
  cat offsets/42.key                the key
  cat offsets/42.lookup             how it was found, or why nothing is there; exists for every number
  getfattr -d offsets/42            offset, timestamp, key, headers, codec ... as user.kafka.*
  cat first last.json               the first and the newest record
  cat seek/42                       what a consumer reads that seeks to 42: the first record from there

Ranges, both ends included
  cat offsets/10..20.jsonl          also first..20, 10..last
  cat offsets/last-5.jsonl          the newest five; first-5 the oldest

By time
  cat time/2026-10-29T04:23:56Z     the first record from that time on, as offsetsForTimes finds it
  cat time/1793247836476            the same in milliseconds; also @seconds, a date, now-15m
  cat time/now-1h.json
  cat time/now-1h.lookup            how it was found
  cat time/2026-10-29..2026-10-30.jsonl     first time included, second not

Everything
  cat records.jsonl                 the whole partition, a line a record, as kcat -J prints it
  cat records.values                value and newline
  cat records.keys                  key and newline
  cat records.tsv                   offset, timestamp, key, value, as PostgreSQL's COPY reads it
  All these suffixes go with every range too.

New records as they arrive
  cat follow/end.jsonl              waits at the log's end and prints each record at once; Ctrl-C ends it
  cat follow/42.values              from offset 42 on; also last-10, now-5m and other times
  It ends by itself (Stale file handle) once the topic is deleted.

Segments
  ls segments                       one directory a segment, named by its base offset
  tail -f active/records.jsonl      the segment that grows
  segments/BASE/records.jsonl       its records; also .values .keys .tsv
  segments/BASE/batches.jsonl       its batches: every header field, position, size, CRC verdict
  segments/BASE/index.tsv           the offset index; also timeindex.tsv, txnindex.tsv
  segments/BASE/producers.jsonl     the producer snapshot
  segments/BASE/info.json           range, sizes, times, state, health of the indexes
  segments/BASE/damage.jsonl        what can't be read, and why; empty on healthy data

Retention
  cat retention/next                the segment that goes next, when, and the offsets that go with it
  cat retention/status.tsv          every segment: its state, when it goes, by which rule, what holds it
  cat retention/policy.tsv          each setting, where it comes from, what it overrides
  ls retention/expired              what the next check takes; deleting/: what is renamed already
  cat retention/what-if/retention.ms=3600000       the status under other settings
  retention/timeline.svg            the same as a picture

The partition
  grep . state/*                    log_start_offset, log_end_offset, high_watermark ...
  cat problems.jsonl                what could not be read, and why; empty on healthy data
  cat stats                         what the mount was asked for

Writing: only in a mount with -o append
  echo hello >> append              each line is a record; a last line without its end waits for the close
  cat FILE >> append.jsonl          each line is an object, as records.jsonl has them:
                                    {"payload":"...","key":"...","headers":["name","value"],"ts":MS}
  fsync, O_SYNC                     make what was written durable

Good to know
  ls offsets                        ends with "File too large" after 100000 names, unless mounted with
                                    -o list=all; names that it left out can be read all the same
  offsets/N of a tombstone is empty; N.json tells null from empty
  Transaction markers are no records: only N.json and N.lookup show them, unless -o control
  A damaged batch gives "Input/output error" for its records; problems.jsonl says where and why
)";
}

std::string_view broker_readme() {
  return R"(This directory shows the logs of a Kafka broker as files. It is read only, but for orders-3/append and
orders-3/append.jsonl in a mount with -o append, and what it shows is read from the logs when it is asked
for.

  ls orders-3                       the log of partition 3 of the topic orders; see orders-3/README
  cat orders-3/offsets/42           the value of the record at offset 42
  cat orders-3/records.jsonl        all its records, a line each
  cat orders-3/retention/next       the segment that goes next, when and why
  cat retention/status.tsv          a line a partition; topics.tsv a line a topic; also status.json
  cat retention/removable.tsv       what takes room and is part of no log
  ls topics                         the topics
  cat topics/orders/3/last.json     the same partition by its topic
  cat problems.jsonl                what could not be read, and why; empty on healthy data
  cat stats                         what the mount was asked for

Directories of partitions that are being deleted (-delete), that no topic claims (-stray) or that are
being moved (-future) are shown by the names they have. Of two copies of a partition in two log
directories the one with more records has the name; the other is NAME~I, I counting directories from 0.
)";
}

std::string_view cache_dir_tag() {
  return R"(Signature: 8a477f597d28d172789f06886806bc55
# Everything here is made from a Kafka log, which is what to back up.
)";
}

}  // namespace offsetfs::fs
