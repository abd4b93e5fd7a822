"""time/TS, against what offsetsForTimes answered for the same logs."""

import datetime
import unittest

from mounted import (ENOENT, FixtureTests, Mount, MountedTest, answer_records, answer_times, fixture,
                     sampled)


class TimeTests(FixtureTests):
    """Every time asked of every topic of one fixture."""

    def check_link(self, path, offset):
        if offset is None:
            self.assertEqual(self.mount.error(path), ENOENT, path)
        else:
            self.assertEqual(self.mount.link(path), f"../offsets/{offset}", path)

    def test_the_link_leads_where_a_consumer_would_read_on(self):
        for partition, topic, _ in self.each_topic():
            for told in sampled(answer_times(self.name, topic)):
                self.check_link(f"{partition}/time/{told['ts']}", told["link"])

    def test_json_is_linked_likewise(self):
        for partition, topic, _ in self.each_topic():
            for told in answer_times(self.name, topic)[::11]:
                if told["link"] is not None:
                    self.assertEqual(self.mount.link(f"{partition}/time/{told['ts']}.json"),
                                     f"../offsets/{told['link']}.json")

    def test_lookup_shows_kafkas_answer_and_the_links(self):
        for partition, topic, _ in self.each_topic():
            for told in sampled(answer_times(self.name, topic)[::5]):
                shown = self.mount.lookup(f"{partition}/time/{told['ts']}.lookup")
                self.assertEqual(list(shown)[0], "result")
                if told["link"] is not None:
                    self.assertEqual(shown["next"], str(told["link"]), (topic, told, shown))
                kafka = "none" if told["kafka"] is None else str(told["kafka"])
                self.assertEqual(shown["offsets_for_times"], kafka, (topic, told, shown))

    def test_ranges_of_time_hold_what_is_dated_in_them(self):
        for partition, topic, _ in self.each_topic():
            records = answer_records(self.name, topic)
            times = sorted({r["ts"] for r in records if r["ts"] >= 0})
            if len(times) < 4:
                continue
            for a, b in ((1, 2), (len(times) // 4, len(times) // 2), (0, len(times) - 1)):
                low, high = times[a], times[b]
                inside = [r["offset"] for r in records if low <= r["ts"] < high]
                shown = self.mount.objects(f"{partition}/time/{low}..{high}.jsonl")
                self.assertEqual([o["offset"] for o in shown], inside, (topic, low, high))

    def test_one_name_a_segment_is_listed(self):
        for partition, topic, _ in self.each_topic():
            records = answer_records(self.name, topic)
            names = self.mount.names(f"{partition}/time")
            self.assertLessEqual(len(names), len(self.mount.names(f"{partition}/segments")))
            offsets = {r["offset"] for r in records}
            for name in names:
                link = self.mount.link(f"{partition}/time/{name}")
                self.assertIn(int(link.rsplit("/", 1)[1]), offsets)


class CleanTest(TimeTests, MountedTest):
    name = "clean"

    def test_every_form_of_a_time(self):
        record = answer_records("clean", "orders")[123]
        ms = record["ts"]
        first = next(r["offset"] for r in answer_records("clean", "orders") if r["ts"] >= ms)
        seconds, rest = divmod(ms, 1000)
        utc = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
        east = utc.astimezone(datetime.timezone(datetime.timedelta(hours=2)))
        for form in (f"{ms}", f"@{seconds}.{rest:03d}", f"{utc:%Y-%m-%dT%H:%M:%S}.{rest:03d}Z",
                     f"{utc:%Y-%m-%dT%H:%M:%S}.{rest:03d}", f"{east:%Y-%m-%dT%H:%M:%S}.{rest:03d}+02:00"):
            self.check_link(f"orders-0/time/{form}", first)
        start = answer_records("clean", "orders")[0]["offset"]
        for form in (f"{utc:%Y-%m-%d}", f"{utc:%Y-%m-%d}T00:00Z", "@0", "0"):
            self.check_link(f"orders-0/time/{form}", start)

    def test_what_is_no_time_is_no_name(self):
        for name in ("yesterday", "2026-13-01", "2026-02-30", "2026-10-29T25:00Z", "@", "+5", "05",
                     "now-", "now-5y", "now-m", "now+5m", "2026-10-29Z", "1.5"):
            self.assertEqual(self.mount.error(f"orders-0/time/{name}"), ENOENT, name)

    def test_a_time_that_looks_like_seconds_is_suspected(self):
        self.assertIn("seconds", self.mount.text("orders-0/time/1793247836.lookup"))
        self.assertIn("micro", self.mount.text("orders-0/time/1793247836476000.lookup"))
        self.assertIn("FILETIME", self.mount.text("orders-0/time/134375000000000000.lookup"))

    def test_a_record_126_years_ahead_is_found(self):
        ahead = max(answer_records("clean", "odd-times"), key=lambda r: r["ts"])
        self.check_link(f"odd-times-0/time/{ahead['ts']}", ahead["offset"])
        self.assertEqual(self.mount.error(f"odd-times-0/time/{ahead['ts'] + 1}"), ENOENT)


class KilledTest(TimeTests, MountedTest):
    name = "killed"


class Magic0Test(TimeTests, MountedTest):
    name = "v0"


class Magic1Test(TimeTests, MountedTest):
    name = "v1"


class Magic1And2Test(TimeTests, MountedTest):
    name = "v1v2"


class NowTest(unittest.TestCase):
    """-o now=TIME sets what `now` means."""

    def test_now_and_before_it(self):
        records = answer_records("clean", "orders")
        now = records[200]["ts"] + 60_000
        first = next(r["offset"] for r in records if r["ts"] >= now - 60_000)
        with Mount(fixture("clean/orders-0"), options=[f"now={now}"]) as mount:
            self.assertEqual(mount.link("time/now-1m"), f"../offsets/{first}")
            self.assertEqual(mount.link("time/now-60s"), f"../offsets/{first}")
            self.assertEqual(mount.link("time/now-1w"), f"../offsets/{records[0]['offset']}")
            shown = [o["offset"] for o in mount.objects("time/now-1h..now-60s.jsonl")]
            self.assertEqual(shown, [r["offset"] for r in records if r["ts"] < now - 60_000])


if __name__ == "__main__":
    unittest.main()
