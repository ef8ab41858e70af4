"""Does the shell complete commands and options?"""

from __future__ import annotations

import os
import subprocess

import pytest

from backfill_assets_tests.projects import BACKFILL

IN_BASH = """\
eval "$(_BACKFILL_COMPLETE=source_bash backfill)"
COMP_WORDS=(backfill {words}) COMP_CWORD={at}
_backfill_completion backfill
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "at", "found"),
    [("pl", 1, {"plan", "plans"}), ("plan --pa", 2, {"--page-url", "--packet-url"}), ("demo --ev", 2, {"--events"})],
)
def test_bash(words: str, at: int, found: set[str]) -> None:
    """As the script that `--install-completion` leaves behind asks for it."""
    script = IN_BASH.format(words=words, at=at)
    path = {"PATH": f"{BACKFILL.parent}:{os.environ['PATH']}"}
    said = subprocess.run(
        ["bash", "-c", script], env={**os.environ, **path}, text=True, capture_output=True, check=True
    )
    assert set(said.stdout.split()) == found and not said.stderr


@pytest.mark.parametrize(("shell", "word"), [("zsh", "compdef"), ("fish", "complete --command")])
def test_other_shells(shell: str, word: str) -> None:
    environment = {**os.environ, "_BACKFILL_COMPLETE": f"source_{shell}"}
    said = subprocess.run([str(BACKFILL)], env=environment, text=True, capture_output=True, check=True)
    assert word in said.stdout and "backfill" in said.stdout
