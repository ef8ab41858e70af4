"""Do the pages of a first hour happen as they tell it? Their files are written, edited, and their commands run.

    python -m backfill_assets_tests.tutorial

plays them on a terminal of 80 columns, writes what was printed into the pages, and what each command took into
docs/performance.md: best where nothing else runs. A block with a `title` is a file, a `diff` with one an edit of it; in
a `console` block, each `$` line is a command and what follows is what it prints.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backfill_assets.adapters.account import account
from backfill_assets_tests.projects import BACKFILL, CHECKOUT, clean_environment

PAGE = CHECKOUT / "docs" / "tutorial.md"
CHANGE = CHECKOUT / "docs" / "first-change.md"
MEASURED = CHECKOUT / "docs" / "performance.md"
_TABLE = re.compile(r"(?<=<!-- what a first hour takes -->\n).*?(?=<!-- that was it -->)", re.DOTALL)
_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?![0-9a-f])")
_VARIES = (
    (re.compile(r"^project: .*$", re.MULTILINE), "project: DIR"),
    (re.compile(r"^Took .*\n", re.MULTILINE), ""),
    (re.compile(r"^.*\bUSD\b.*\n", re.MULTILINE), ""),
    (re.compile(r"^(Rebuilding everything .* would take) .*$", re.MULTILINE), r"\1 SECONDS"),
    (re.compile(r"\br\d{14}-[0-9a-f]{6}\b"), "RELEASE"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"), "TIME"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "VERSION"),
    (_ID, "PLAN"),
    (re.compile(r"(?:≈ )?\d[\d.]*(?: (?:s|min|h))?(?:[– ]\d[\d.]*)* (?:s|min|h)\b"), "SECONDS"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command of a page, and how many seconds it took."""

    command: str
    seconds: float


def played(page: str, folder: Path, steps: list[Step] | None = None) -> str:
    """The page, with what its commands print in `folder` in place of what it says that they print.

    `steps` is extended by what each command took.
    """
    place = folder
    ids: dict[str, str] = {}

    def block(found: re.Match[str]) -> str:
        nonlocal place
        language, title, text = found.groups()
        if title:
            file = place / title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(edited(file.read_text(), text) if language == "diff" else text)
            return found.group()
        if language != "console":
            return found.group()
        lines: list[str] = []
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, told = part.partition("\n")
            command = _ID.sub(lambda one: ids.get(one.group(), one.group()), command)
            lines.append(f"$ {command}")
            if command.startswith("cd "):
                place /= command[3:]
                continue
            began = time.monotonic()
            said = _run(command, place)
            if steps is not None:
                steps.append(Step(command=command, seconds=time.monotonic() - began))
            ids.update(zip(_ID.findall(told), _ID.findall(said), strict=False))
            lines += [line.rstrip() for line in said.splitlines()]
        return "```console\n" + "\n".join(lines) + "\n```"

    return _BLOCK.sub(block, page)


def plain(page: str) -> str:
    """The page without what is another each time: ids, instants, durations, estimates of cost, where such lines end."""
    for pattern, word in _VARIES:
        page = pattern.sub(word, page)
    return "\n".join(" ".join(words.split()) for words in page.split("$ "))


def edited(text: str, change: str) -> str:
    """A file's text after a change that is written as a diff without line numbers."""
    lines = [line for line in change.splitlines(keepends=True) if not line.startswith(("---", "+++", "@@"))]
    old, new = ("".join(line[1:] for line in lines if line[0] in f" {sign}") for sign in "-+")
    if text.count(old) != 1:
        raise AssertionError(f"there is no such text to change, or it is there twice:\n{old}")
    return text.replace(old, new)


def _run(command: str, folder: Path) -> str:
    path = f"{BACKFILL.parent}:{clean_environment()['PATH']}"
    screen = {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "xterm"}
    environment = clean_environment(PATH=path, BACKFILL_CACHE=str(folder / ".backfill" / "cache"), **screen)
    # Files, not pipes: a JVM that is busy for itself after the command would keep a pipe open.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, stdout=out, stderr=err, timeout=1800, check=False
        )
        out.seek(0)
        err.seek(0)
        printed, complaints = out.read(), err.read()
    if done.returncode not in (0, 4):
        raise AssertionError(f"{command}: code {done.returncode}\n{printed}{complaints}")
    said = _COLOUR.sub("", printed).replace(str(folder.resolve()), f"~/{folder.name}")
    for name, shown in ((account(), "ana"), (socket.gethostname(), "laptop")):
        said = re.sub(rf"\b{re.escape(name)}\b", shown, said)
    return said


def main() -> None:
    """Play the pages, and write them and the times again."""
    load, rows = os.getloadavg()[0], list[str]()
    for page in (PAGE, CHANGE):
        steps: list[Step] = []
        with tempfile.TemporaryDirectory(prefix="tutorial-") as folder:
            page.write_text(played(page.read_text(), Path(folder), steps))
        rows += _rows(page, steps)
    table = "\n".join(
        (f"Load of the machine before: {load:.1f}.\n", "| page | command | seconds |", "|---|---|---|", *rows)
    )
    MEASURED.write_text(_TABLE.sub(lambda _: f"{table}\n", MEASURED.read_text()))


def _rows(page: Path, steps: Sequence[Step]) -> list[str]:
    name = f"[{page.stem}]({page.name})"
    rows = [
        f"| {name} | `{step.command}` | {step.seconds:.1f} |" for step in steps if step.command.startswith("backfill")
    ]
    return [*rows, f"| {name} | all of them | **{sum(step.seconds for step in steps):.0f}** |"]


if __name__ == "__main__":
    main()
