"""All checks behind one command: style, types, layers, generated docs and tests. Exits non-zero if any fails.

Two lanes, side by side: the tests that need Spark, and everything else. What the second one says comes when it is over.
`--all` runs those as well that take minutes each (`extended`), which are left out otherwise.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from backfill_assets_tests.projects import backfill, small_project

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
TESTS = "backfill_assets_tests"
GENERATED = ("api", "cli", "architecture", "audits", "categories", "contracts", "models", "settings")
"""Pages of which parts come from the code."""
CHECKS = {
    "style": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "types": ["pyright"],
    "layers": ["lint-imports", "--no-cache"],
    "docs": ["cog", "--check", "-r", *(f"docs/{name}.md" for name in GENERATED)],
    "pure tests": ["pytest", *(f"{TESTS}/{name}" for name in ("unit", "contracts", "golden", "browser"))],
}
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
        return 1 if lane({"tests": ["pytest", *arguments]}, quiet=False) else 0
    leave_classes()
    with ThreadPoolExecutor(1) as pool:
        checks = pool.submit(lane, CHECKS, quiet=True)
        chosen = [] if arguments else SHORT
        failed = lane({name: [*command, *chosen] for name, command in SPARK.items()}, quiet=False)
        failed += checks.result()
    if failed:
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


def lane(commands: dict[str, list[str]], *, quiet: bool) -> list[str]:
    """Run commands one after the other; the names of those that failed. `quiet`: print all of it at the end."""
    failed: list[str] = []
    said: list[str] = []
    for name, command in commands.items():
        head = f"\n== {name}: {' '.join(command)}"
        if not quiet:
            print(head, flush=True)
        began = time.monotonic()
        done = subprocess.run(
            [str(BIN / command[0]), *command[1:]],
            cwd=ROOT,
            check=False,
            text=True,
            stdout=subprocess.PIPE if quiet else None,
            stderr=subprocess.STDOUT if quiet else None,
        )
        verdict = "ok" if done.returncode == 0 else "FAILED"
        tail = f"== {name}: {verdict} in {time.monotonic() - began:.0f} s"
        if quiet:
            said += [head, done.stdout.rstrip(), tail]
        else:
            print(tail, flush=True)
        if done.returncode != 0:
            failed.append(name)
    if quiet:
        print("\n".join(said), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
