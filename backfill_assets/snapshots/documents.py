"""Which line of which file says this value? Plain data read from YAML, with the place of every key and item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from backfill_assets.errors import Problem
from backfill_assets.settings_file import yaml_problem

Path_ = tuple[str | int, ...]
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """`data` as plain values; `lines` maps the path to one (`("audits", 0, "range")`) to its line in `file`."""

    file: Path
    line: int = 1
    data: Any = None
    lines: Mapping[Path_, int] = field(default_factory=dict[Path_, int])

    def line_of(self, *path: str | int) -> int:
        """The line of the value, else of the nearest thing around it that has one."""
        for length in range(len(path), 0, -1):
            if (line := self.lines.get(path[:length])) is not None:
                return line
        return self.line

    def problem(self, *path: str | int, what: str, why: str = "", fix: str = "") -> Problem:
        """A problem at the line of the value at `path`."""
        return Problem(file=self.file, line=self.line_of(*path), what=what, why=why, fix=fix)


def read_yaml(text: str, file: Path, problems: list[Problem], *, first_line: int = 1) -> Document | None:
    """The YAML text as a document; None (and a problem) when it is not YAML. Duplicate keys are problems.

    `first_line` is the line of the file on which the text starts.
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        data = loader.construct_document(node) if node is not None else None
    except yaml.YAMLError as error:
        problems.append(yaml_problem(file, error, first_line))
        return None
    except ValueError as error:  # a date such as 2024-13-01
        fix = "correct it, or put it in quotes if it is text"
        what = "a value here cannot be read"
        problems.append(Problem(file=file, line=first_line, what=what, why=str(error), fix=fix))
        return None
    finally:
        loader.dispose()
    lines: dict[Path_, int] = {}
    document = Document(file=file, line=first_line, data=data, lines=lines)
    if node is not None:
        _walk(node, (), first_line, lines, document, problems)
    return document


def did_you_mean(name: str, known: list[str], otherwise: str = "") -> str:
    """`did you mean x?` for the closest known name, `otherwise` when none is close.

    >>> did_you_mean("onwer", ["owner", "start"])
    'did you mean `owner`?'
    """
    by_lower = {k.lower(): k for k in known}
    close = get_close_matches(name.lower(), list(by_lower), n=1)
    return f"did you mean `{by_lower[close[0]]}`?" if close else otherwise


def _walk(node: Any, path: Path_, first: int, lines: dict[Path_, int], doc: Document, problems: list[Problem]) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = str(key.value)
            here = (*path, name)
            if here in lines:
                what = f"`{name}` is given twice"
                why = f"it is already given at line {lines[here]}, and one of them would silently be ignored"
                line = key.start_mark.line + first
                problems.append(Problem(file=doc.file, line=line, what=what, why=why, fix="keep one of them"))
                continue
            lines[here] = key.start_mark.line + first
            _walk(value, here, first, lines, doc, problems)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            here = (*path, index)
            lines[here] = item.start_mark.line + first
            _walk(item, here, first, lines, doc, problems)
