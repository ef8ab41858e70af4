"""What does a dbt model's raw code say, without evaluating it? A few forms of Jinja are known, all others refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from backfill_assets.importing.found import Untranslatable

_TAG = re.compile(r"\{\{-?(?P<value>.*?)-?\}\}|\{%-?(?P<block>.*?)-?%\}|\{#.*?#\}", re.DOTALL)
_TEXT = r"'([^'\"\\{}]*)'|\"([^'\"\\{}]*)\""
_REF = re.compile(rf"\s*ref\(\s*(?:{_TEXT})\s*(?:,\s*(?:{_TEXT})\s*)?\)\s*")
_SOURCE = re.compile(rf"\s*source\(\s*(?:{_TEXT})\s*,\s*(?:{_TEXT})\s*\)\s*")
_CONFIG = re.compile(r"\s*config\((?P<inner>.*)\)\s*", re.DOTALL)
_CALL = re.compile(r"\w\s*\(")
_IF = re.compile(r"\s*if\s+is_incremental\(\s*\)\s*")
_END = re.compile(r"\s*endif\s*")
_COLUMN = r"(?:[\w.]+|cast\(\s*[\w.]+\s+as\s+\w+\s*\)|[\w.]+\s*::\s*\w+)"
_BOUND = re.compile(
    rf"\s*(?:where|and)\s+{_COLUMN}\s*>=?\s*\(\s*select\s+(?:coalesce\(\s*)?max\(\s*{_COLUMN}\s*\)"
    r"(?:\s*,\s*(?:cast\()?\s*(?:date\s+|timestamp\s+)?'[\d :-]*'(?:\s+as\s+\w+\s*\)|\s*::\s*\w+)?\s*\))?"
    r"\s*from\s+\{\{\s*this\s*\}\}\s*\)\s*",
    re.IGNORECASE,
)
"""`where event_time > (select max(event_time) from {{ this }})`"""

Resolve = Callable[[str, tuple[str, ...], int], str]
"""From `ref` or `source`, its arguments and its line to the name to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """SQL as it is at a full refresh, with as many lines as the raw code; `incremental` are the lines of its bounds."""

    text: str
    incremental: tuple[int, ...]


def without_jinja(code: str, resolve: Resolve) -> Raw:
    """The code with names for `ref` and `source`, without `config` and `is_incremental()`. Raises Untranslatable."""
    pieces: list[str] = []
    lines: list[int] = []
    at, inside = 0, None
    for tag in _TAG.finditer(code):
        line = code.count("\n", 0, tag.start()) + 1
        if inside is None:
            pieces.append(code[at : tag.start()])
        block, value = tag["block"], tag["value"]
        if block is not None and _IF.fullmatch(block) and inside is None:
            inside = tag.end()
            lines.append(line)
        elif block is not None and _END.fullmatch(block) and inside is not None:
            if not _BOUND.fullmatch(code[inside : tag.start()]):
                why = "known is `where column > (select max(column) from {{ this }})`: another filter may decide rows"
                raise Untranslatable("what is_incremental() adds", why=why, line=lines[-1])
            inside = None
        elif inside is None and value is not None:
            pieces.append(_value(value, resolve, line))
        elif block is not None or inside is None or not value or value.strip() != "this":
            if tag[0].startswith("{#") and inside is None:
                pass
            else:
                raise Untranslatable(f"`{' '.join(tag[0].split())[:80]}`", why="Jinja is not evaluated", line=line)
        skipped = code[at : tag.end()] if inside is not None or block is not None else tag[0]
        pieces.append("\n" * skipped.count("\n") if block is None or inside is None else "\n" * tag[0].count("\n"))
        at = tag.end()
    if inside is not None:
        raise Untranslatable("an if without endif", line=lines[-1])
    text = "".join([*pieces, code[at:]])
    if (odd := re.search(r"\{[{%#]|[%}]\}|#\}", text)) is not None:
        raise Untranslatable("Jinja", why="it is not read", line=text.count("\n", 0, odd.start()) + 1)
    return Raw(text=text, incremental=tuple(lines))


def _value(value: str, resolve: Resolve, line: int) -> str:
    if (found := _REF.fullmatch(value)) is not None:
        return resolve("ref", tuple(g for g in found.groups() if g is not None), line)
    if (found := _SOURCE.fullmatch(value)) is not None:
        return resolve("source", tuple(g for g in found.groups() if g is not None), line)
    if (found := _CONFIG.fullmatch(value)) is not None and not _CALL.search(found["inner"]):
        return ""  # the manifest says what it comes to
    raise Untranslatable(f"`{{{{ {' '.join(value.split())[:80]} }}}}`", why="Jinja is not evaluated", line=line)
