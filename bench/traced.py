"""Where does each second of a `backfill` command go? The same command, with a clock on the functions that do its work.

    python bench/traced.py --spans spans.json -- apply --json

Runs the command in this process; functions that are renamed are simply not clocked. Writes when each call began and
ended (Unix time), by thread; `share` turns that into seconds that add up to the whole.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import importlib
import itertools
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

CLOCKED = {
    # module, owner (or ""), function: what its time is called
    ("backfill_assets.project.loader", "", "load_project"): "load project",
    ("backfill_assets.app.context", "", "load_project"): "load project",
    ("backfill_assets.app.plan", "", "plan_request"): "plan",
    ("backfill_assets.app.gate", "", "judge_plan"): "gate",
    ("backfill_assets.app.promote", "", "promote_plan"): "promote",
    ("backfill_assets.adapters.session", "", "spark_session"): "Spark session start",
    ("backfill_assets.adapters.session", "", "check_java"): "Spark session start: java -version",
    ("backfill_assets.build.build", "", "_look"): "look: ledger and table logs",
    ("backfill_assets.build.build", "", "_create"): "prepare: create table, record version",
    ("backfill_assets.adapters.engine", "SparkEngine", "write"): "write: Spark computes and commits",
    ("backfill_assets.adapters.job_rows", "JobRows", "of"): "write: analyze the query",
    ("backfill_assets.adapters.job_rows", "JobRows", "_input_view"): "write: input views",
    ("backfill_assets.adapters.engine", "SparkEngine", "_commit_of"): "write: find the commit",
    ("backfill_assets.adapters.engine", "", "check_pins"): "write: check pins",
    ("backfill_assets.adapters.engine", "SparkEngine", "scan"): "audit: scan",
    ("backfill_assets.adapters.engine", "SparkEngine", "sample"): "audit: samples",
    ("backfill_assets.build.audit", "", "judge"): "audit: judge",
    ("backfill_assets.build.audit", "", "_prod_rows"): "audit: rows in prod",
    ("backfill_assets.state.ledger", "Ledger", "append"): "record: ledger",
    ("backfill_assets.state.results", "AuditResults", "append"): "record: audit results",
    ("backfill_assets.state.ledger", "Ledger", "compact"): "compact control tables",
    ("backfill_assets.state.results", "AuditResults", "compact"): "compact control tables",
}

Span = tuple[int, str, float, float]
"""Thread, name, beginning and end."""

_SPANS: list[Span] = []


def share(spans: Sequence[Span], began: float, ended: float) -> dict[str, float]:
    """Seconds by name that add up to `ended - began`.

    An instant belongs to the innermost call of a thread; when several threads are at work it is divided among them;
    when none is, it is "unaccounted".

    >>> share([(1, "a", 0, 4), (1, "b", 1, 2), (2, "c", 3, 5)], 0, 6)
    {'a': 2.5, 'b': 1.0, 'c': 1.5, 'unaccounted': 1.0}
    """
    edges = sorted({began, ended, *(t for s in spans for t in s[2:] if began < t < ended)})
    total: dict[str, float] = defaultdict(float)
    for left, right in itertools.pairwise(edges):
        innermost: dict[int, Span] = {}
        for span in spans:
            if span[2] <= left and span[3] >= right:
                other = innermost.get(span[0])
                if other is None or span[2] >= other[2]:
                    innermost[span[0]] = span
        for span in innermost.values():
            total[span[1]] += (right - left) / len(innermost)
        if not innermost:
            total["unaccounted"] += right - left
    return dict(sorted(total.items()))


def calls(spans: Sequence[Span]) -> dict[str, tuple[int, float]]:
    """How often each was called, and the seconds of all calls added up (threads overlap)."""
    found: dict[str, tuple[int, float]] = {}
    for _, name, began, ended in spans:
        count, seconds = found.get(name, (0, 0.0))
        found[name] = (count + 1, seconds + ended - began)
    return found


def clock(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, noting when it runs."""

    @functools.wraps(function)
    def clocked(*args: Any, **kwargs: Any) -> Any:
        began = time.time()
        try:
            return function(*args, **kwargs)
        finally:
            _SPANS.append((threading.get_ident(), name, began, time.time()))

    return clocked


def put_clocks(where: Mapping[tuple[str, str, str], str]) -> None:
    for (module, owner, function), name in where.items():
        try:
            holder: Any = importlib.import_module(module)
            holder = getattr(holder, owner) if owner else holder
            setattr(holder, function, clock(name, getattr(holder, function)))
        except (ImportError, AttributeError) as error:
            print(f"not clocked: {name} ({error})", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--spans", type=Path, required=True)
    parser.add_argument("command", nargs="+")
    chosen = parser.parse_args()
    from backfill_assets.cli import main as backfill

    put_clocks(CLOCKED)
    ready = time.time()

    def write() -> None:
        chosen.spans.write_text(json.dumps({"ready": ready, "done": time.time(), "spans": _SPANS}))

    atexit.register(write)
    sys.argv = ["backfill", *chosen.command]
    backfill()


if __name__ == "__main__":
    main()
