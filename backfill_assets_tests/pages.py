"""What do the pages show in fenced blocks? For the test that holds each of them to the product."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from backfill_assets_tests.projects import CHECKOUT

_FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```[ ]*$", re.DOTALL | re.MULTILINE)
_TITLE = re.compile(r'title="([^"]+)"')
_ENDS = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<"})

REFERENCE = "stories/test_reference_pages.py"
PLAYED = {
    "docs/tutorial.md": "stories/test_tutorial.py",
    "docs/how-to/approve.md": "stories/test_how_tos.py",
    "docs/how-to/ci.md": "stories/test_how_tos.py",
    "docs/how-to/late-data.md": "stories/test_how_tos.py",
    "docs/how-to/restate.md": "stories/test_how_tos.py",
    "docs/how-to/roll-back.md": "stories/test_how_tos.py",
    "docs/runbook.md": "stories/test_how_tos.py",
    "docs/how-to/dimension.md": "contracts/test_dimension_page.py",
    "docs/coming_from.md": "unit/test_page_blocks.py",
    **{
        f"docs/{name}.md": REFERENCE
        for name in (
            "adoption", "approvals", "catalogs", "consumers", "day", "diff", "evidence", "late-data", "plans",
            "rollback", "warehouse", "watch",
        )
    },
    **{
        f"backfill_assets/demo/examples/{name}/README.md": "stories/test_worked_examples.py"
        for name in ("customer_days", "events", "fact_order_items", "fact_orders_daily")
    },
}  # fmt: skip
"""Where each page is played: its commands run as it writes them, one after the other."""
NOT_PLAYED = {
    "README.md": (REFERENCE, "sets a checkout up, and runs all tests; what comes after that is docs/day.md, too"),
    "CONTRIBUTING.md": ("__main__.py", "sets a checkout up"),
    "docs/first-change.md": ("tutorial.py", "minutes over the whole demo; it is played when the page is written"),
    "docs/clusters.md": ("spark/test_standalone.py", "machines of a cluster: the same processes run on this one"),
    "docs/connect.md": ("stories/test_connect.py", "installs packages, serves: the same over the wheel's own server"),
    "docs/object-stores.md": ("stories/test_object_store.py", "a bucket: the same over a server of its protocol"),
    "docs/components.md": ("unit/defs/test_components.py", "installs packages: the same in the project that they make"),
    "docs/dagster.md": ("unit/defs/test_names.py", "serves"),
    "docs/review.md": ("browser/test_review_page.py", "serves"),
    "docs/spark.md": ("stories/test_kept_session.py", "serves"),
    "docs/how-to/erase.md": ("unit/promote/test_erasure.py", "waits for weeks: the same by a clock"),
    "docs/windows.md": ("stories/test_windows.py", "waits for the night"),
    "docs/categories.md": ("unit/sql/test_fuzz_verdict.py", "hours of edits"),
    "docs/pull-requests.md": (
        "unit/actions/test_workflows.py",
        "posts to others' hosts: the same on recorded payloads",
    ),
}
"""Pages whose commands are not run as they stand: what has the same in another way, and why. Each of the commands is
read by the command line (`unit/test_page_blocks.py`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: `where` is `page:line` of its fence, `title` the file that it stands for."""

    where: str
    language: str
    title: str
    text: str


def pages() -> list[Path]:
    """Every page: of the top folder, of docs/ with its subfolders, of the examples in the package."""
    top = [CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md")]
    return [*top, *sorted((CHECKOUT / "docs").rglob("*.md")), *sorted((CHECKOUT / "backfill_assets").rglob("*.md"))]


def blocks() -> Iterator[Block]:
    """All blocks of all pages, in order."""
    for page in pages():
        text = page.read_text()
        for found in _FENCE.finditer(text):
            said, line = found[2], text.count("\n", 0, found.start()) + 1
            title = _TITLE.search(said)
            yield Block(
                where=f"{page.relative_to(CHECKOUT)}:{line}",
                language=(said.split() or [""])[0],
                title=title[1] if title else "",
                text=found[3],
            )


def shell(page: str) -> list[Block]:
    """The blocks of a page (its path in the checkout) that are for a shell."""
    return [b for b in blocks() if b.where.startswith(f"{page}:") and b.language in ("bash", "console")]


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each simple command in a block for a shell, without comments, pipes and redirections.

    In a `console` block these are what follows `$ `; what is printed is left out.
    """
    lines = iter(block.text.splitlines())
    for line in lines:
        if block.language == "console":
            if not line.startswith("$ "):
                continue
            line = line[2:]
        while (words := _words(line)) is None:  # a quote or a backslash goes on in the next line
            line = f"{line.removesuffix(chr(92))}\n{next(lines)}"
        command: list[str] = []
        for word in [*words, ";"]:
            if word not in _ENDS:
                command.append(word)
            elif command:
                yield command
                command = []


def _words(line: str) -> list[str] | None:
    """The line's words and operators; None when it is not over."""
    if line.rstrip().endswith("\\"):
        return None
    reader = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    reader.whitespace_split = True
    try:
        return list(reader)
    except ValueError:
        return None
