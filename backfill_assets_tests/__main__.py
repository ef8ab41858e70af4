"""All checks behind one command: style, types, layers, generated docs and tests. Exits non-zero if any fails.

Two lanes, side by side: one begins with the tests that need Spark, the other with everything else, of which the first
one takes its share when it is through. What else than Spark's tests is said comes at the end.
`--all` runs those as well that take minutes each (`extended`), which are left out otherwise.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from backfill_assets_tests.projects import backfill, small_project

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
TESTS = "backfill_assets_tests"
GENERATED = ("api", "cli", "architecture", "audits", "categories", "contracts", "models", "settings")
"""Pages of which parts come from the code."""
_UNITS = ("unit/promote", "unit/plan", "unit/defs", "unit/python_models")
CHECKS = {
    "tests of contracts": ["pytest", f"{TESTS}/contracts"],
    "tests of promotions": ["pytest", f"{TESTS}/{_UNITS[0]}"],
    "tests of plans": ["pytest", *(f"{TESTS}/{name}" for name in _UNITS[1:])],
    "other pure tests": [
        "pytest", *(f"{TESTS}/{name}" for name in ("unit", "golden", "browser")),
        *(f"--ignore={TESTS}/{name}" for name in _UNITS),
    ],
    "types": ["pyright"],
    "style": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "layers": ["lint-imports", "--no-cache"],
    "docs": ["cog", "--check", "-r", *(f"docs/{name}.md" for name in GENERATED)],
}  # fmt: skip
"""The longest ones first: of them nobody waits for the last."""
WORKERS = ("sqlframe", "sqlglot")
"""What those who compile Python models import: they read the bytecode beside a package's files, and write none."""
SPARK = {
    # Stories take minutes, the others seconds: these come last, so that no worker is left with a story.
    "Spark tests": [
        "pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", f"{TESTS}/stories", f"{TESTS}/spark",
    ]
}  # fmt: skip
ALL = "--all"
SHORT = ["-m", "not extended"]


def main(arguments: list[str]) -> int:
    """Run every check and all tests (or, with arguments, pytest with these), and say at the end which failed."""
    with tempfile.TemporaryDirectory(prefix="bytecode-") as folder:
        # Hundreds of interpreters are started. An image may forbid bytecode, and uv installs none: then each of them
        # would compile all that it imports.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        for name in WORKERS:
            found = find_spec(name)
            for place in (found and found.submodule_search_locations) or ():
                compileall.compile_dir(place, quiet=2)
        return run(arguments)


def run(arguments: list[str]) -> int:
    """What `main` does, once what is compiled stays so."""
    if arguments not in ([], [ALL]):
        return 0 if carry_out("tests", ["pytest", *arguments], quiet=False).passed else 1
    leave_classes()
    chosen = [] if arguments else SHORT
    waiting = deque(CHECKS.items())
    with ThreadPoolExecutor(2) as lanes:
        first = lanes.submit(lane, waiting, {name: [*command, *chosen] for name, command in SPARK.items()})
        second = lanes.submit(lane, waiting, {})
        done = [*first.result(), *second.result()]
    print("\n".join(one.said for one in done if one.said), flush=True)
    if failed := [one.name for one in done if not one.passed]:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def leave_classes() -> None:
    """Open two sessions before all others: the second one's JVM leaves an archive of its classes, from which a hundred
    others start."""
    with tempfile.TemporaryDirectory(prefix="classes-") as folder:
        project = small_project(Path(folder), days=2)
        backfill("apply", "--promote", project=project)
        backfill(
            "sql", "SELECT kind, sum(n) FROM prod.daily GROUP BY kind", project=project
        )  # holds its pipes until then


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended, and what it said, unless that was printed as it ran."""

    name: str
    passed: bool
    said: str = ""


def lane(waiting: deque[tuple[str, list[str]]], begin_with: dict[str, list[str]]) -> list[Done]:
    """Run commands one after the other, first these, then what nobody has taken yet of those that wait."""
    done = [carry_out(name, command, quiet=False) for name, command in begin_with.items()]
    while True:
        try:
            name, command = waiting.popleft()
        except IndexError:
            return done
        done.append(carry_out(name, command, quiet=True))


def carry_out(name: str, command: list[str], *, quiet: bool) -> Done:
    """Run one command; `quiet`: print nothing of it."""
    head = f"\n== {name}: {' '.join(command)}"
    if not quiet:
        print(head, flush=True)
    began = time.monotonic()
    ended = subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        cwd=ROOT,
        check=False,
        text=True,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
    )
    verdict = "ok" if ended.returncode == 0 else "FAILED"
    tail = f"== {name}: {verdict} in {time.monotonic() - began:.0f} s"
    if not quiet:
        print(tail, flush=True)
    said = "\n".join([head, ended.stdout.rstrip(), tail]) if quiet else ""
    return Done(name=name, passed=ended.returncode == 0, said=said)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
