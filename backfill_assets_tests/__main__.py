"""All checks behind one command: style, types, layers, generated docs and tests. Exits non-zero if any fails."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
CHECKS = {
    "style": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "types": ["pyright"],
    "layers": ["lint-imports", "--no-cache"],
    "docs": ["cog", "--check", "-r", "docs/cli.md", "docs/architecture.md", "docs/categories.md"],
    "tests": ["pytest", *sys.argv[1:]],
}


def main() -> int:
    """Run every check, tests last, and say at the end which failed."""
    failed: list[str] = []
    for name, command in CHECKS.items():
        print(f"\n== {name}: {' '.join(command)}", flush=True)
        began = time.monotonic()
        done = subprocess.run([str(BIN / command[0]), *command[1:]], cwd=ROOT, check=False)
        verdict = "ok" if done.returncode == 0 else "FAILED"
        print(f"== {name}: {verdict} in {time.monotonic() - began:.0f} s", flush=True)
        if done.returncode != 0:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
