#!/usr/bin/env bash
# A short tour of a mount: installs what is missing, builds offsetfs, mounts logs that a Kafka broker
# wrote (tests/data), and shows commands with what they print. Works on a fresh Debian 12.
set -euo pipefail
cd "$(dirname "$0")/.."

tests/install_packages build
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DOFFSETFS_TESTS=OFF >/dev/null
cmake --build build --target offsetfs >build/tour.log || { cat build/tour.log; exit 1; }

place=$(mktemp -d)
finish() {
  if mountpoint -q "$place/mnt"; then fusermount3 -u "$place/mnt"; fi
  rm -rf "$place"
}
trap finish EXIT
tar -xJSf tests/data/fixtures.tar.xz -C "$place" logs/clean logs/live
mkdir "$place/mnt"
offsetfs=$PWD/build/offsetfs
cd "$place"

# Prints a command as it would be typed, and runs it.
show() {
  printf '\n$ %s\n' "$1"
  bash -c "PATH=$(dirname "$offsetfs"):\$PATH; $1" || true
}

show 'offsetfs logs/clean mnt'
show 'ls -C -T0 -w 96 mnt'
show 'cat mnt/orders-0/offsets/42; echo'
show 'jq -c "{key, payload, ts, codec, segment}" mnt/orders-0/offsets/42.json'
show 'getfattr -n user.kafka.timestamp --only-values mnt/orders-0/offsets/42; echo'
show 'cat mnt/orders-0/offsets/100..102.values'
show 'tail -n 2 mnt/orders-0/records.tsv'
show 'readlink mnt/orders-0/time/2026-10-29T04:23:56.700Z'
show 'cat mnt/trimmed-0/offsets/3.lookup'
show 'readlink mnt/compacted-0/seek/8103'
show 'cat mnt/txn-0/offsets/11.lookup'
show 'ls mnt/seg-demo-0/segments mnt/seg-demo-0/segments/00000000000000001005'
show 'head -n 3 mnt/seg-demo-0/active/index.tsv'
show 'head -n 1 mnt/codec-zstd-0/active/batches.jsonl'
show 'wc -l mnt/seg-demo-0/segments/*/records.jsonl'
show 'grep -c w100 mnt/seg-demo-0/records.values'
show 'cp mnt/shapes-0/offsets/10 large && wc -c large'
show 'grep . mnt/orders-0/state/{log_start_offset,log_end_offset,high_watermark,leader_epoch}'
show 'wc -c mnt/problems.jsonl'
show 'fusermount3 -u mnt'
