"""`python -m backfill_assets_tests.fuzz`: many edits, or a file of them. Exits with 1 if something untrue was said."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from backfill_assets_tests.fuzz.case import Pair
from backfill_assets_tests.fuzz.corpus import read_corpus
from backfill_assets_tests.fuzz.engine import Engine
from backfill_assets_tests.fuzz.pairs import pair
from backfill_assets_tests.fuzz.run import Found, Tally, check, run
from backfill_assets_tests.fuzz.shrink import shrunk

SHRINK = {"duckdb": 1500, "spark": 250}
"""How many smaller pairs are tried for what was found, by engine: about half a minute."""
SHOWN = 40


def main(arguments: list[str] | None = None) -> int:
    asked = _arguments(arguments)
    began = time.monotonic()
    with _engine(asked.engine) as engine:
        pairs: Iterable[Pair]
        if asked.corpus:
            pairs = read_corpus(asked.corpus, spark=asked.engine == "spark")
        else:
            pairs = (
                pair(asked.seed, number, spark=asked.engine == "spark")
                for number in range(asked.first, asked.first + asked.edits)
            )
        shown: list[str] = []

        def report(found: Found) -> None:
            key = _alike(found)
            if key in shown or len(shown) >= SHOWN:
                return
            shown.append(key)
            small = found if asked.whole else smallest(found, engine)
            print(described(small), flush=True)
            if asked.findings:
                with asked.findings.open("a", encoding="utf-8") as file:
                    file.write(as_line(small) + "\n")

        tally = run(pairs, engine, precision=not asked.claims_only, enough=asked.enough, report=report)
    print(summary(tally, time.monotonic() - began))
    if asked.out:
        runs = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else []
        runs.append(as_json(tally, engine.name, asked.seed))
        asked.out.write_text(json.dumps(runs, indent=2) + "\n", encoding="utf-8")
    return 1 if tally.found else 0


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m backfill_assets_tests.fuzz", description=__doc__)
    parser.add_argument("--edits", type=int, default=500, help="how many random edits (500)")
    parser.add_argument("--seed", default="1", help="the same seed gives the same edits")
    parser.add_argument("--first", type=int, default=0, help="the number of the first edit: to go on, or to repeat one")
    parser.add_argument("--engine", choices=["duckdb", "spark"], default="duckdb")
    parser.add_argument("--corpus", type=Path, help="a file of pairs instead, a JSON object a line")
    parser.add_argument("--claims-only", action="store_true", help="run only what something is said of: no precision")
    parser.add_argument("--whole", action="store_true", help="show what was found as it is, not made small")
    parser.add_argument("--enough", type=int, help="end at so many findings")
    parser.add_argument("--findings", type=Path, help="append what was found to this file, as lines for --corpus")
    parser.add_argument("--out", type=Path, help="add the counts to this file, a JSON list")
    return parser.parse_args(arguments)


@contextmanager
def _engine(name: str) -> Iterator[Engine]:
    if name == "duckdb":
        from backfill_assets_tests.fuzz.duck import DuckEngine

        yield DuckEngine()
        return
    from backfill_assets.adapters.session import spark_session
    from backfill_assets.core.settings import Settings
    from backfill_assets_tests.fuzz.spark import SparkEngine, fast

    with tempfile.TemporaryDirectory() as folder:
        java = "-XX:+UseParallelGC -XX:-UsePerfData -Xlog:disable -Xlog:all=warning:stderr"
        spark = {"spark.driver.memory": "2g", "spark.driver.extraJavaOptions": java}
        session = spark_session(Path(folder), Settings(warehouse=folder, spark=spark))
        with fast(session):
            yield SparkEngine(session)
        session.stop()


def smallest(found: Found, engine: Engine) -> Found:
    """The same defect in as few words as can be."""

    def wrong(smaller: Pair) -> bool:
        return any(f.crash == found.crash and _sort(f) == _sort(found) for f in check(smaller, engine))

    small = shrunk(found.pair, wrong, SHRINK[engine.name])
    return next((f for f in check(small, engine) if f.crash == found.crash), found)


def _sort(found: Found) -> str:
    return found.what.found.split(":")[0] if found.crash else found.what.said.split(",")[0].split(":")[0]


def _alike(found: Found) -> str:
    """Findings that are probably one defect; the second one needs nobody's eyes yet."""
    if found.crash:
        return found.what.found
    text = next((t for n, t in found.pair.old.items() if t != found.pair.new[n]), "")
    return f"{found.pair.kind} {text[:24] if found.pair.kind == 'what a parser may lose' else ''} {_sort(found)}"


def described(found: Found) -> str:
    lines = [f"--- {'crash' if found.crash else 'untrue'}: {found.pair.kind}, rows {found.pair.dataset}"]
    for name, text in found.pair.old.items():
        lines.append(f"  {name}: {text}")
        if found.pair.new[name] != text:
            lines.append(f"  {' ' * len(name)}→ {found.pair.new[name]}")
    return "\n".join([*lines, f"  said of {found.what.model}: {found.what.said}", f"  found: {found.what.found}"])


def as_line(found: Found) -> str:
    pair = found.pair
    what = f"{pair.kind}: {found.what.model} said {found.what.said}, found {found.what.found}"
    return json.dumps({"what": what, "old": dict(pair.old), "new": dict(pair.new)}, ensure_ascii=False)


def summary(tally: Tally, seconds: float) -> str:
    said = ", ".join(f"{tally.claims[c]} {c}" for c in tally.claims)
    equal = sorted(tally.needless.items())
    needless = "; ".join(f"{c}: equal in {100 * n / tally.careful[c]:.0f} %" for c, n in equal)
    refused = ", ".join(f"{n} {why.strip()}" for why, n in tally.refused.most_common(6))
    return (
        f"{tally.pairs} edits in {seconds:.0f} s: {len(tally.found)} untrue or crashed. Said of models: {said}. "
        f"{needless}.\n"
        f"Left out: {tally.invalid} invalid, {tally.failed} failed, {tally.unrepeatable} without one result; "
        f"refused by the product: {tally.refused.total()} ({refused})."
    )


def as_json(tally: Tally, engine: str, seed: str) -> dict[str, object]:
    return {
        "engine": engine, "seed": seed, "edits": tally.pairs, "untrue": sum(not f.crash for f in tally.found),
        "crashes": sum(f.crash for f in tally.found), "invalid": tally.invalid, "refused": tally.refused.total(),
        "failed": tally.failed, "unrepeatable": tally.unrepeatable, "claims": dict(sorted(tally.claims.items())),
        "careful": dict(sorted(tally.careful.items())), "needless": dict(sorted(tally.needless.items())),
    }  # fmt: skip
