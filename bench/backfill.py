"""How does `backfill apply` compare with a job written by hand, and with a loop over days?

    python bench/backfill.py --events 2000000 --rounds 3

One interleaved run: in each round `backfill apply`, the hand-written job and a share of the loop's days, each in a
process of its own and a fresh warehouse. Aborts unless the two make equal tables. See `bench/README.md`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

from _demo import BACKFILL, MODELS, environment, make_data, make_project
from _measure import Run, adopt_orphans, machine, median, run, spread, verdict
from _same import Content, insist_on_equal
from traced import Span, calls, share

from backfill_assets.adapters.machine import conf_dir, delta_jars

HERE = Path(__file__).resolve().parent
DAYS, MONTHS = 540, 17
SMALL, LARGE = 2_000_000, 20_000_000


class Bench:
    """The folders of one run and the commands in them."""

    def __init__(self, work: Path, events: int) -> None:
        self.work = work.resolve()
        self.data = make_data(self.work, events)
        self.project = make_project(self.work / "project", self.data)
        self.ours, self.hand, self.loop = (self.work / name for name in ("ours", "hand", "loop"))
        conf = conf_dir(self.project)
        jars = os.pathsep.join(str(jar) for jar in delta_jars(conf))
        self.by_hand = dict(os.environ) | {"SPARK_CONF_DIR": str(conf), "BENCH_JARS": jars}

    def apply(self) -> Run:
        self._begin()
        return self._ours([BACKFILL, "apply", "--json"], "apply")

    def promote(self) -> Run:
        return self._ours([BACKFILL, "promote", "--json"], "promote")

    def traced(self) -> tuple[Run, dict[str, float], list[Span]]:
        """An apply with clocks: the run, its seconds by name, and its spans."""
        self._begin()
        file = self.work / "spans.json"
        done = self._ours([sys.executable, HERE / "traced.py", "--spans", file, "--", "apply", "--json"], "traced")
        noted = json.loads(file.read_text())
        spans: list[Span] = [tuple(s) for s in noted["spans"]]
        seconds = {"process start and imports": noted["ready"] - done.began}
        seconds |= share(spans, noted["ready"], noted["done"])
        seconds["process end"] = done.began + done.wall - noted["done"]
        return done, seconds, spans

    def handwritten(self) -> Run:
        shutil.rmtree(self.hand, ignore_errors=True)
        command = [sys.executable, HERE / "handwritten_job.py", "--data", self.data, "--warehouse", self.hand]
        return run(command, env=self.by_hand, log=self.work / "logs" / "hand.log")

    def day_by_day(self, days: int, months: int, seed: int) -> dict[str, list[float]]:
        shutil.rmtree(self.loop, ignore_errors=True)
        command = [sys.executable, HERE / "day_by_day.py", "--data", self.data, "--complete", self.hand]
        command += ["--warehouse", self.loop, "--days", days, "--months", months, "--seed", seed]
        return json.loads(run(list(map(str, command)), env=self.by_hand, log=self.work / "logs" / "loop.log").output)

    def _begin(self) -> None:
        """A new warehouse, of which the project remembers nothing."""
        shutil.rmtree(self.ours, ignore_errors=True)
        (self.project / ".backfill" / "warehouses.json").unlink(missing_ok=True)

    def compare(self, applied: dict) -> dict[str, Content]:
        """The content that both made. Exits when anything differs or is incomplete."""
        if not applied["complete"]:
            sys.exit(f"ours is not complete: see {self.work / 'logs'}/apply.out and traced.out")
        return {
            name: insist_on_equal(name, self.ours / name / applied["models"][name]["version"], self.hand / name)
            for name in MODELS
        }

    def _ours(self, command: list[str | Path], name: str) -> Run:
        # 3: some intervals are not complete; `compare` says so with more words.
        log = self.work / "logs" / f"{name}.log"
        return run(command, env=environment(self.project, self.ours), log=log, allowed=(0, 3))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=2_000_000, help="rows of ad_events (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--days", type=int, default=30, help="days of the loop that are timed, 0 for no loop")
    parser.add_argument("--work", type=Path, default=Path(".backfill/bench"), help="default: %(default)s")
    parser.add_argument("--save", type=Path, help="write every measurement to this JSON file")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    chosen = parser.parse_args()
    adopt_orphans()
    print(machine())
    bench = Bench(chosen.work, chosen.events)
    ours: list[Run] = []
    hand: list[Run] = []
    promotions: list[Run] = []
    loop: dict[str, list[float]] = {"days": [], "months": []}
    phases: list[dict[str, float]] = []
    hand_phases: list[dict[str, float]] = []
    for number in range(1, chosen.rounds + 1):
        ours.append(bench.apply())
        applied = json.loads(ours[-1].output)
        hand.append(bench.handwritten())
        hand_phases.append(json.loads(hand[-1].output))
        same = bench.compare(applied)
        phases.append(_phases(applied))
        promotions.append(bench.promote())
        line = f"round {number}: ours {ours[-1].wall:.2f} s, by hand {hand[-1].wall:.2f} s, tables equal"
        if chosen.days:
            part = bench.day_by_day(math.ceil(chosen.days / chosen.rounds), math.ceil(3 / chosen.rounds), number)
            loop["days"] += part["days"]
            loop["months"] += part["months"]
            line += f"; loop {median(part['days']):.2f} s a day"
        print(line, flush=True)
    done, seconds, spans = bench.traced()
    bench.compare(json.loads(done.output))

    for name, content in same.items():
        print(f"  {name}: {content.rows:,} rows, checksum {content.checksum}")
    started = seconds["process start and imports"]
    met = _report(chosen.events, ours, hand, loop, phases, hand_phases, promotions, started)
    _where(done, seconds, spans)
    if chosen.save:
        values = {"events": chosen.events, "loop": loop, "phases": phases, "hand_phases": hand_phases}
        values |= {"ours": [_plain(r) for r in ours], "hand": [_plain(r) for r in hand]}
        values |= {"promote": [_plain(r) for r in promotions], "where": seconds}
        chosen.save.write_text(json.dumps(values, indent=2))
    if chosen.check and not met:
        sys.exit(1)


def _report(
    events: int,
    ours: list[Run],
    hand: list[Run],
    loop: dict[str, list[float]],
    phases: list[dict[str, float]],
    hand_phases: list[dict[str, float]],
    promotions: list[Run],
    started: float,
) -> bool:
    """Print what was measured; whether the targets were met. `started`: our seconds of process start and imports."""
    mine, other = median(r.wall for r in ours), median(r.wall for r in hand)
    print(f"\nmedians of {len(ours)} rounds, {events:,} events, {DAYS} days, three models")
    for name, runs in (("ours", ours), ("a: by hand", hand), ("promotion (ours)", promotions)):
        cpu, peak = median(r.cpu for r in runs), median(r.peak for r in runs)
        print(f"  {name:20} {spread([r.wall for r in runs]):34} cpu {cpu:7.2f} s   largest process {peak:,.0f} MiB")
    cpu = median(r.cpu for r in ours) / median(r.cpu for r in hand)
    print(f"  ours / a             {mine / other:.2f}   (cpu {cpu:.2f}),   ours - a {mine - other:+.2f} s")
    met = True
    if loop["days"]:
        day, month = (sum(loop[k]) / len(loop[k]) for k in ("days", "months"))
        whole = day * DAYS + month * MONTHS
        counted = f"{len(loop['days'])} random days and {len(loop['months'])} months"
        print(f"  b: day by day        {whole:.0f} s, EXTRAPOLATED to {DAYS} days and {MONTHS} months from {counted}")
        print(f"                       ({day:.2f} s a day for both daily tables, {month:.2f} s a month; session warm)")
        print(f"  b / ours             {whole / mine:.1f}")
        met &= verdict("b / ours", whole / mine, 10, unit=" ×", at_least=True)
    if events <= SMALL:
        beyond = (mine - started) - (other - median(p["process start and imports"] for p in hand_phases))
        met &= verdict("overhead beyond process start, ours - a", beyond, 5, unit=" s")
    if events >= LARGE:
        met &= verdict("ours / a", mine / other, 1.25, unit=" ×")
    print("\nseconds by phase as `apply --json` says, added up over concurrent batches (medians)")
    for key in phases[0]:
        print(f"  {key:45} {median(p.get(key, 0.0) for p in phases):7.2f}")
    print("seconds of the hand-written job (steps after the first overlap)")
    for key in hand_phases[0]:
        print(f"  {key:45} {median(p.get(key, 0.0) for p in hand_phases):7.2f}")
    return met


def _where(done: Run, seconds: dict[str, float], spans: list[Span]) -> None:
    """Where the seconds of one more apply went, with clocks on."""
    groups: dict[str, float] = {}
    counted = calls(spans)
    for name, value in seconds.items():
        group = name.split(":")[0]
        groups[group] = groups.get(group, 0.0) + value
    print(f"\nwhere the {done.wall:.2f} s of one more apply went: concurrent work shares its seconds, the rows add up")
    for group, value in sorted(groups.items(), key=lambda g: -g[1]):
        print(f"  {value:7.2f}  {group}")
        for name in sorted((n for n in seconds if n.startswith(f"{group}: ")), key=lambda n: -seconds[n]):
            count, whole = counted.get(name, (0, 0.0))
            label = name.split(": ")[1]
            print(f"           {seconds[name]:7.2f}  {label:34} {count:4} calls, {whole:.2f} s inside them")
    print(f"  {sum(seconds.values()):7.2f}  in all")
    print("        -  Dagster's events: reported later, by a sensor; not measured here")


def _phases(applied: dict) -> dict[str, float]:
    """`model phase` → seconds."""
    found: dict[str, float] = {}
    for name in MODELS:
        model = applied["models"][name]
        found[f"{name} wall"] = model["wall_seconds"]
        for phase, value in model["seconds"].items():
            found[f"{name} {phase}"] = value
    return found


def _plain(measured: Run) -> dict[str, float]:
    return {k: v for k, v in asdict(measured).items() if k != "output"}


if __name__ == "__main__":
    main()
