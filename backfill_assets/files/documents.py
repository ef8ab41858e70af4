"""Which line of which file says this value? All YAML of a project is read here, with its places.

What is wrong with it (the YAML itself, a key twice, a date that does not exist) is a problem at its line; the rest of
the file is still read, so that all problems are told at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from backfill_assets.core.errors import Problem

Path_ = tuple[str | int, ...]
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONTROL = yaml.reader.Reader.NON_PRINTABLE
DEEPEST, MOST = 40, 50_000
"""Levels of nested YAML, and values with all aliases followed, at most: libyaml's composer overflows the stack of C."""


class Unreadable:
    """Stands for a value that could not be read; that is reported already."""

    def __repr__(self) -> str:
        return "unreadable"


UNREADABLE = Unreadable()


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

    `first_line` is the line of the file on which the text starts. A value that cannot be read is UNREADABLE.
    """
    if (problem := _too_deep(text, file, first_line)) is not None:
        problems.append(problem)
        return None
    loader = _Loader(text)
    lines: dict[Path_, int] = {}
    try:
        node = loader.get_single_node()
        if node is None:
            return Document(file=file, line=first_line)
        reader = _Reader(loader, file, first_line, lines, problems)
        return Document(file=file, line=first_line, data=reader.value(node, (), ()), lines=lines)
    except _Bomb:
        what, fix = "the YAML is too large with its aliases followed", "write the values out instead of using *aliases"
        problems.append(Problem(file=file, line=first_line, what=what, why=f"more than {MOST:,} values", fix=fix))
        return None
    except (yaml.YAMLError, RecursionError) as error:
        problems.append(_yaml_problem(file, error, first_line, text))
        return None
    finally:
        loader.dispose()


class _Bomb(Exception):
    """Aliases that stand for more values than anybody writes."""


_STANDARD = "tag:yaml.org,2002:"
_TAGS = frozenset({"str", "int", "float", "bool", "null", "timestamp", "seq", "map", "merge", "value"})
_NUMBERS = (f"{_STANDARD}int", f"{_STANDARD}float")
_NO_TAGS = "write plain YAML, without tags (`!…`)"
_UNDERSCORED = re.compile(r"[-+]?\d{1,3}(_\d{3})*(\.\d*)?")
_OCTAL = re.compile(r"[-+]?0[0-7_]*[1-7][0-7_]*")


class _Reader:
    """Turns nodes into plain values, one by one: one that is wrong does not hide the others."""

    def __init__(self, loader: Any, file: Path, first: int, lines: dict[Path_, int], problems: list[Problem]) -> None:
        self._loader, self._file, self._first = loader, file, first
        self._lines, self._problems = lines, problems
        self._left = MOST
        self._twins: dict[int, set[int]] = {}

    def value(self, node: Any, path: Path_, above: tuple[int, ...]) -> Any:
        """The node's value; `above` are the nodes around it."""
        self._left -= 1
        if self._left < 0 or len(above) > 2 * DEEPEST:
            raise _Bomb
        if id(node) in above:
            return self._refuse(node, "a value contains itself", "", "write the value instead of the *alias")
        inside = (*above, id(node))
        if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
            return [self._item(item, (*path, index), inside) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
            return self._mapping(node, path, inside)
        return self._constructed(node)

    def _item(self, node: Any, path: Path_, above: tuple[int, ...]) -> Any:
        self._lines[path] = node.start_mark.line + self._first
        return self.value(node, path, above)

    def _mapping(self, node: Any, path: Path_, above: tuple[int, ...]) -> dict[Any, Any]:
        twins = self._flattened(node)
        found: dict[Any, Any] = {}
        for key, value in node.value:  # what `<<` merges comes first
            if id(key) in twins or (name := self._constructed(key)) is UNREADABLE:
                continue
            here = (*path, str(key.value))
            self._lines[here] = key.start_mark.line + self._first
            found[name] = self.value(value, here, above)
        return found

    def _flattened(self, node: Any) -> set[int]:
        """Follows `<<` in a mapping, once; returns the keys that do not count: given twice, or no names."""
        if id(node) in self._twins:
            return self._twins[id(node)]
        twins = self._twins[id(node)] = set[int]()
        seen: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                twins.add(id(key))
                self._refuse(key, "a key is a list or a mapping", "", "write `name: value` lines")
            elif (first := seen.get(key.value)) is not None:
                twins.add(id(key))
                why = f"it is already given at line {first}, and one of them would silently be ignored"
                self._refuse(key, f"`{_short(key.value)}` is given twice", why, "keep one of them")
            else:
                seen[key.value] = key.start_mark.line + self._first
        try:
            self._loader.flatten_mapping(node)
        except yaml.YAMLError as error:
            self._problems.append(_yaml_problem(self._file, error, self._first))
        return twins

    def _constructed(self, node: Any) -> Any:
        text = _short(str(getattr(node, "value", "")))
        if node.tag.startswith(_STANDARD) and node.tag.removeprefix(_STANDARD) not in _TAGS:
            tag = node.tag.removeprefix(_STANDARD)
            return self._refuse(node, "a value here cannot be read", f"`!!{tag}` is no plain value", _NO_TAGS)
        if node.tag == f"{_STANDARD}int" and _OCTAL.fullmatch(node.value):
            why = f"a zero before it makes it octal: {int(node.value, 8)}"
            fix = "write it without the zero, or in quotes if it is text"
            return self._refuse(node, f"a value here cannot be meant: {text}", why, fix)
        if node.tag in _NUMBERS and (
            ":" in node.value or ("_" in node.value and not _UNDERSCORED.fullmatch(node.value))
        ):
            return self._odd_number(node, text)
        try:
            value = self._loader.construct_object(node, deep=True)
        except yaml.YAMLError as error:
            why = str(getattr(error, "problem", None) or error)
            return self._refuse(node, "a value here cannot be read", why, _NO_TAGS)
        except (ValueError, OverflowError) as error:  # a date such as 2024-13-01, a number of 5,000 digits
            fix = "correct it, or put it in quotes if it is text"
            return self._refuse(node, f"a value here cannot be read: {text}", str(error), fix)
        return value

    def _odd_number(self, node: Any, text: str) -> Unreadable:
        """`1:30` is 90 in YAML, sixty to the one; `1_0` is 10."""
        try:
            taken = f"YAML takes it for {self._loader.construct_object(node)}"
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            taken = str(error)
        fix = "write the number in digits, or in quotes if it is text"
        return self._refuse(node, f"a value here cannot be meant: {text}", taken, fix)

    def _refuse(self, node: Any, what: str, why: str, fix: str) -> Unreadable:
        line = node.start_mark.line + self._first
        self._problems.append(Problem(file=self._file, line=line, what=what, why=why, fix=fix))
        return UNREADABLE


def _too_deep(text: str, file: Path, first_line: int) -> Problem | None:
    """Brackets in brackets, counted without composing them. What is no YAML at all is told by the reader."""
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                mark: Any = event.start_mark
                line = mark.line + first_line
                what, why = "the YAML is nested too deeply", f"more than {DEEPEST} levels"
                return Problem(file=file, line=line, what=what, why=why, fix="close the brackets, or indent less")
    except (yaml.YAMLError, ValueError):
        pass
    return None


def _yaml_problem(file: Path, error: Exception, first_line: int, text: str = "") -> Problem:
    """The problem that a YAML error describes; `first_line` is where the YAML text starts in the file."""
    mark: Any = getattr(error, "problem_mark", None)
    control = _CONTROL.search(text) if mark is None else None
    before = mark.line if mark is not None else text.count("\n", 0, control.start()) if control else 0
    why = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    fix = "check indentation, colons and quotes at this line"
    if "\t" in "".join(text.splitlines()[before : before + 1]):
        fix = "indent with spaces: YAML takes no tabs"
    elif "another document" in why or "expected a single document" in str(error):
        fix = "keep one document: remove the line `---`"
    elif control:
        fix = f"remove the character {control.group()!r}"
    elif any(words in why for words in ("cannot start any token", "alias", "anchor", "alphabetic or numeric")):
        fix = "put the value in quotes"
    return Problem(file=file, line=first_line + before, what="this is not valid YAML", why=why, fix=fix)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
