"""How does Markdown keep to a length, where GitHub takes no longer text? It is cut between blocks, and says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

LIMIT = 60_000
"""Characters. GitHub refuses a comment of more than 65,536."""
_ROOM = 240
"""Characters for saying that not all of it is shown."""
_FEWEST = 12
"""Lines of a table, its head included, that stay as long as anything else can go."""


def fitting(text: str, limit: int = LIMIT, whole: str = "backfill plan") -> str:
    """The text, not longer than `limit` characters; `whole` is the command that prints all of it.

    The longest tables lose rows from their ends first, then fenced and folded parts go, then what comes last. A fence,
    a folded part and a row stay whole or go; the first block, a line, stays.

    >>> print(fitting("# Plan\\n\\n" + "x" * 300, 290))
    # Plan
    <BLANKLINE>
    **Not all of it is shown**, for want of room: 1 paragraph is left out. `backfill plan` says all of it.
    """
    if len(text) <= limit:
        return text
    blocks = [*_blocks(text)]
    rows = gone = 0
    while (excess := len(_joined(blocks)) - (limit - _ROOM)) > 0 and len(blocks) > 1:
        tables = [n for n, block in enumerate(blocks) if _is_table(block) and len(block) > _FEWEST]
        if tables:
            longest = max(tables, key=lambda n: len("\n".join(blocks[n])))
            cut = _rows_to_cut(blocks[longest], excess)
            blocks[longest] = blocks[longest][:-cut]
            rows += cut
            continue
        folded = [n for n, block in enumerate(blocks) if n and block[0].startswith(("```", "<details>"))]
        del blocks[folded[-1] if folded else -1]
        gone += 1
    return f"{_joined(blocks)[: limit - _ROOM]}\n\n{_note(rows, gone, whole)}"


def _rows_to_cut(table: Sequence[str], excess: int) -> int:
    """As many rows from the end as are too much, but not the first ones."""
    freed, cut = 0, 0
    while freed < excess and len(table) - cut > _FEWEST:
        cut += 1
        freed += len(table[-cut]) + 1
    return cut


def _note(rows: int, gone: int, whole: str) -> str:
    left = [f"{rows:,} row{'s' * (rows != 1)} of tables"] if rows else []
    left += [f"{gone:,} paragraph{'s' * (gone != 1)}"] if gone else []
    verb = "is" if rows + gone == 1 else "are"
    return (
        f"**Not all of it is shown**, for want of room: {' and '.join(left)} {verb} left out. `{whole}` says all of it."
    )


def _joined(blocks: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(block) for block in blocks)


def _is_table(block: Sequence[str]) -> bool:
    return len(block) > 2 and block[0].startswith("|")


def _blocks(text: str) -> Iterator[list[str]]:
    """What blank lines part, but for those within a fence and within a folded part."""
    block: list[str] = []
    end = ""
    for line in text.split("\n"):
        if not end and not line.strip():
            if block:
                yield block
            block = []
            continue
        if end:
            end = "" if line.strip() == end else end
        elif line.startswith("```"):
            end = "```"
        elif line.startswith("<details>"):
            end = "</details>"
        block.append(line)
    if block:
        yield block
