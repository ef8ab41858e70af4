"""Break one rule after another in a copy, and see the tests that are named for it fail.

`python -m backfill_assets_tests.mutations` tries all (some minutes, no Spark); words choose those that have them in
their text. Exits with 1 where a mutation survives.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time

from backfill_assets_tests.mutations.copies import Copy, copied
from backfill_assets_tests.mutations.every import MUTATIONS
from backfill_assets_tests.mutations.mutation import Mutation


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m backfill_assets_tests.mutations", description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutations that have one of these in their text or file")
    asked = parser.parse_args(arguments)
    chosen = [m for m in MUTATIONS if not asked.words or any(w in f"{m.what} {m.edit.file}" for w in asked.words)]
    survived = 0
    with copied() as copy:
        sound = run(copy, sorted({test for m in chosen for test in m.tests}))
        if sound.failed:
            print(f"these fail without any mutation: {', '.join(sorted(sound.failed))}\n{sound.said}")
            return 1
        for mutation in chosen:
            began = time.monotonic()
            passed = survivors(copy, mutation)
            survived += bool(passed)
            verdict = "SURVIVED" if passed else "killed"
            print(f"{verdict:9}{time.monotonic() - began:5.1f} s  {mutation.what}", flush=True)
            for test in passed:
                print(f"         passes: {test}", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} mutations are killed")
    return 1 if survived else 0


def survivors(copy: Copy, mutation: Mutation) -> list[str]:
    """The named tests that pass although the rule is broken."""
    with copy.edited(mutation.edit):
        found = run(copy, mutation.tests)
    return [test for test in mutation.tests if not any(_is_of(failed, test) for failed in found.failed)]


class Run:
    """What a run of tests said, and the ids of those that failed."""

    def __init__(self, said: str) -> None:
        self.said = said
        self.failed = set(re.findall(r"^(?:FAILED|ERROR) backfill_assets_tests/unit/(\S+)", said, re.MULTILINE))


def run(copy: Copy, tests: list[str] | tuple[str, ...]) -> Run:
    """Run tests over the copy, whatever order they come in."""
    ids = [f"backfill_assets_tests/unit/{test}" for test in tests]
    few = ["-x"] if len(ids) == 1 else []
    command = [sys.executable, "-B", "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", *few, *ids]
    done = subprocess.run(
        command, cwd=copy.folder, env=dict(copy.environment), capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"pytest ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return Run(done.stdout)


def _is_of(failed: str, test: str) -> bool:
    """Whether a failed test is the named one, or one of its parametrised ones, or one in a named file."""
    return failed == test or failed.startswith((f"{test}[", f"{test}::"))


if __name__ == "__main__":
    sys.exit(main())
