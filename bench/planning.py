"""How long does it take to know what is left to do? `backfill plan` and an `apply` that finds nothing to do.

    python bench/planning.py --rounds 5

Each is the whole command as a person waits for it, in a process of its own; the situations take turns. Also checks that
neither Dagster nor PySpark is imported. `bench/README.md` says what is printed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from _big_project import make_big_project
from _demo import BACKFILL, environment, make_data, make_project
from _filled import fill
from _measure import Run, adopt_orphans, machine, median, run, spread, verdict

FORBIDDEN = ("dagster", "pyspark", "py4j")
NOTED = ("sqlframe", "pandas", "numpy", "pyarrow", "deltalake", "sqlglot", "pydantic", "rich", "typer")
_PROBE = """
import atexit, json, sys
def tell():
    print("IMPORTED " + json.dumps(sorted({m.split(".")[0] for m in sys.modules})), file=sys.stderr)
atexit.register(tell)
from backfill_assets.cli import main
sys.argv = ["backfill", *sys.argv[1:]]
main()
"""


@dataclass(slots=True, kw_only=True)
class Case:
    """A situation, what is run in it, and the seconds that it may take (None: only shown)."""

    name: str
    project: Path
    warehouse: Path
    command: tuple[str, ...]
    limit: float | None = None
    cold: bool = False
    """Nothing of the project was ever read, and no Python model compiled."""
    edited: bool = False
    """A file changed: all are read again, but Python models are compiled already."""
    """Run on a fresh copy of the project, so that nothing is cached in it."""
    runs: list[Run] = field(default_factory=list[Run])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--models", type=int, default=300, help="its SQL models (default: %(default)s)")
    parser.add_argument("--python-models", type=int, default=20, help="and Python models (default: %(default)s)")
    parser.add_argument("--work", type=Path, default=Path(".backfill/bench"), help="default: %(default)s")
    parser.add_argument("--save", type=Path, help="write every measurement to this JSON file")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    chosen = parser.parse_args()
    adopt_orphans()
    print(machine())
    work = chosen.work.resolve() / "planning"
    work.mkdir(parents=True, exist_ok=True)
    cases = _cases(work, chosen.models, chosen.python_models)
    for number in range(chosen.rounds):
        for case in cases:
            case.runs.append(_once(case, work))
        print(f"round {number + 1} of {chosen.rounds}", flush=True)

    print(f"\nwhole commands, medians of {chosen.rounds} runs (slowest and fastest), and CPU seconds")
    met = True
    for case in cases:
        print(f"  {case.name:64} {spread([r.wall for r in case.runs]):28} cpu {median(r.cpu for r in case.runs):.2f} s")
    print("\ntargets")
    for case in cases:
        if case.limit is not None:
            met &= verdict(case.name, median(r.wall for r in case.runs), case.limit, unit=" s")
    print("\nimports")
    for case in cases:
        met &= _imports(case, work)
    if chosen.save:
        values = {c.name: [asdict(r) | {"output": ""} for r in c.runs] for c in cases}
        chosen.save.write_text(json.dumps(values, indent=2))
    if chosen.check and not met:
        sys.exit(1)


def _cases(work: Path, models: int, python: int) -> list[Case]:
    demo = make_project(work / "demo", make_data(work, 20_000))
    big = make_big_project(work / "big", sql=models, python=python)
    empty, demo_full, big_full = (work / name for name in ("empty", "demo-full", "big-full"))
    for folder in (empty, demo_full, big_full):
        shutil.rmtree(folder, ignore_errors=True)
    print(f"pretended: a complete backfill of the demo ({fill(demo, demo_full)} models)", flush=True)
    print(f"pretended: a complete backfill of the large project ({fill(big, big_full)} models)", flush=True)
    large = f"{models} SQL + {python} Python models × 1,100 days"
    plan, apply = ("plan",), ("apply",)
    return [
        Case(name="plan, demo, nothing built", project=demo, warehouse=empty, command=plan, limit=1.0),
        Case(name="plan, demo, complete", project=demo, warehouse=demo_full, command=plan, limit=1.0),
        Case(name="apply, demo, complete: nothing to do", project=demo, warehouse=demo_full, command=apply, limit=1.5),
        Case(name=f"plan, {large}, no caches", project=big, warehouse=empty, command=plan, cold=True),
        Case(name=f"plan, {large}, edited", project=big, warehouse=empty, command=plan, limit=5.0, edited=True),
        Case(name=f"plan, {large}, nothing built", project=big, warehouse=empty, command=plan, limit=5.0),
        Case(name=f"plan, {large}, complete", project=big, warehouse=big_full, command=plan, limit=5.0),
    ]


def _once(case: Case, work: Path) -> Run:
    project = case.project
    if case.cold:
        project = work / "cold"
        shutil.rmtree(project, ignore_errors=True)
        shutil.copytree(case.project, project, ignore=shutil.ignore_patterns("__pycache__", ".backfill"))
    if case.edited:
        shutil.rmtree(project / ".backfill" / "cache" / "project", ignore_errors=True)
    env = environment(project, case.warehouse)
    done = run([BACKFILL, *case.command], env=env, log=work / "logs" / "planning.log")
    _insist(case, done)
    return done


def _insist(case: Case, done: Run) -> None:
    """A fast answer that is wrong is worth nothing."""
    wrong = "complete" in case.name and "build " in done.output.split("Then")[0]
    if wrong or (case.warehouse.name == "empty" and "build" not in done.output):
        sys.exit(f"{case.name}: unexpected answer\n{done.output[:2000]}")


def _imports(case: Case, work: Path) -> bool:
    """Print what the command imports; whether nothing of it is forbidden."""
    log = work / "logs" / "imports.log"
    run([sys.executable, "-c", _PROBE, *case.command], env=environment(case.project, case.warehouse), log=log)
    said = next(line for line in log.read_text().splitlines() if line.startswith("IMPORTED "))
    imported = set(json.loads(said.removeprefix("IMPORTED ")))
    bad = [name for name in FORBIDDEN if name in imported]
    print(f"  {'MISSED' if bad else 'met   '}  {case.name}: imports {', '.join(bad) or 'neither Dagster nor PySpark'}"
          f" (of the heavy ones: {', '.join(n for n in NOTED if n in imported)})")  # fmt: skip
    return not bad


if __name__ == "__main__":
    main()
