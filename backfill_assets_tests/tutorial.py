"""Does the tutorial happen as docs/tutorial.md tells it? Its files are written and its commands run.

    python -m backfill_assets_tests.tutorial

writes what was printed into the page. A block with a `title` is a file; in a `console` block, each `$` line is a
command and what follows is what it prints.
"""

from __future__ import annotations

import re
import socket
import subprocess
import tempfile
from pathlib import Path

from backfill_assets.adapters.account import account
from backfill_assets_tests.projects import BACKFILL, CHECKOUT, clean_environment

PAGE = CHECKOUT / "docs" / "tutorial.md"
_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?![0-9a-f])")
_VARIES = (
    (re.compile(r"^project: .*$", re.MULTILINE), "project: DIR"),
    (re.compile(r"^Took .*\n", re.MULTILINE), ""),
    (re.compile(r"\br\d{14}-[0-9a-f]{6}\b"), "RELEASE"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"), "TIME"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "VERSION"),
    (_ID, "PLAN"),
    (re.compile(r"(?:≈ )?\d[\d.]*(?: (?:s|min|h))?(?:[– ]\d[\d.]*)* (?:s|min|h)\b"), "SECONDS"),
)


def played(page: str, folder: Path) -> str:
    """The page, with what its commands print in `folder` in place of what it says that they print."""
    place = folder
    ids: dict[str, str] = {}

    def block(found: re.Match[str]) -> str:
        nonlocal place
        language, title, text = found.groups()
        if title:
            file = place / title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            return found.group()
        if language != "console":
            return found.group()
        lines: list[str] = []
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, told = part.partition("\n")
            lines.append(f"$ {command}")
            if command.startswith("cd "):
                place /= command[3:]
                continue
            said = _run(_ID.sub(lambda one: ids.get(one.group(), one.group()), command), place)
            ids.update(zip(_ID.findall(told), _ID.findall(said), strict=False))
            lines += [line.rstrip() for line in said.splitlines()]
        return "```console\n" + "\n".join(lines) + "\n```"

    return _BLOCK.sub(block, page)


def plain(page: str) -> str:
    """The page without what is another each time: ids, instants, durations, where lines of such lengths end."""
    for pattern, word in _VARIES:
        page = pattern.sub(word, page)
    return "\n".join(" ".join(words.split()) for words in page.split("$ "))


def _run(command: str, folder: Path) -> str:
    path = f"{BACKFILL.parent}:{clean_environment()['PATH']}"
    environment = clean_environment(PATH=path, COLUMNS="100", BACKFILL_CACHE=str(folder / ".backfill" / "cache"))
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode not in (0, 4):
        raise AssertionError(f"{command}: code {done.returncode}\n{done.stdout}{done.stderr}")
    said = done.stdout.replace(str(folder.resolve()), f"~/{folder.name}")
    for name, shown in ((account(), "ana"), (socket.gethostname(), "laptop")):
        said = re.sub(rf"\b{re.escape(name)}\b", shown, said)
    return said


def main() -> None:
    """Write the page again."""
    with tempfile.TemporaryDirectory(prefix="tutorial-") as folder:
        page = played(PAGE.read_text(), Path(folder))
        again = dict(zip(_ID.findall(PAGE.read_text()), _ID.findall(page), strict=False))
        PAGE.write_text(_ID.sub(lambda one: again.get(one.group(), one.group()), page))


if __name__ == "__main__":
    main()
