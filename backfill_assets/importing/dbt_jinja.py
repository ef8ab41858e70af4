"""What does a dbt model's raw code come to at a full refresh? Literals, loops over them, `ref`, `source`, `var`.

Nothing of the project is executed: a template is rendered only when each node of it is on a short list, and calls of
macros are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from jinja2 import TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from backfill_assets.importing.found import Untranslatable

_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_INCREMENTAL = re.compile(
    r"\{%-?\s*if\s+is_incremental\(\s*\)\s*-?%\}(?P<inner>.*?)\{%-?\s*(?:endif|else)\s*-?%\}", re.DOTALL
)
_COLUMN = r"(?:[\w.\"`]+|cast\(\s*[\w.\"`]+\s+as\s+\w+\s*\)|[\w.\"`]+\s*::\s*\w+)"
_BOUND = re.compile(
    rf"\s*(?:where|and)\s+{_COLUMN}\s*>=?\s*\(\s*select\s+(?:coalesce\(\s*)?max\(\s*{_COLUMN}\s*\)"
    r"(?:\s*,\s*(?:cast\()?\s*(?:date\s+|timestamp\s+)?'[\d :-]*'(?:\s+as\s+\w+\s*\)|\s*::\s*\w+)?\s*\))?"
    r"\s*from\s+\{\{\s*this\s*\}\}\s*\)\s*",
    re.IGNORECASE,
)
"""`where event_time > (select max(event_time) from {{ this }})`"""
_FILTER = re.compile(
    r"(?:where|and)\s+(?:cast\(\s*)?(?:[\w\"`]+\.)?[\"`]?(?P<column>\w+)[\"`]?.{0,40}?(?:>|between)",
    re.IGNORECASE | re.DOTALL,
)
_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Const, nodes.Name, nodes.List, nodes.Tuple, nodes.Dict,
    nodes.Pair, nodes.For, nodes.If, nodes.Assign, nodes.Not, nodes.And, nodes.Or, nodes.Compare, nodes.Operand,
    nodes.Getattr, nodes.Call, nodes.Keyword, nodes.Filter, nodes.Concat, nodes.CondExpr, nodes.Getitem,
)  # fmt: skip
_FILTERS = ("upper", "lower", "trim", "join", "replace", "length", "title", "first", "last", "string")
_CALLS = ("ref", "source", "config", "var", "is_incremental")
_LARGEST = 200_000

Resolve = Callable[[str, tuple[str, ...], int], str]
"""From `ref` or `source`, its arguments and its line to the name to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """SQL as it is at a full refresh, with as many lines as the raw code where no loop makes more.

    `filtered` is the column that is_incremental() filters by, with the line of it; `unusual` are the lines of filters
    that are more than the rows after the newest one. `filled` are values of `var`: line, name, and both in words.
    """

    text: str
    filtered: str = ""
    incremental: tuple[int, ...] = ()
    unusual: tuple[int, ...] = ()
    filled: tuple[tuple[int, str, str], ...] = ()


def without_jinja(code: str, resolve: Resolve, variables: Mapping[str, object]) -> Raw:
    """The code as it is at a full refresh. Raises Untranslatable for Jinja that is not on the list."""
    if len(code) > _LARGEST:
        raise Untranslatable("the model is too large", why=f"it has {len(code):,} characters")
    lines: list[int] = []
    unusual: list[int] = []
    filtered = ""
    for found in _INCREMENTAL.finditer(code):
        line = code.count("\n", 0, found.start()) + 1
        lines.append(line)
        if not _BOUND.fullmatch(found["inner"]):
            unusual.append(line)
        if not filtered and (column := _FILTER.search(found["inner"])) is not None:
            filtered = column["column"].lower()
    for said in re.finditer(r"is_incremental", code):  # in other conditions: false at a full refresh
        line = code.count("\n", 0, said.start()) + 1
        if line not in lines:
            lines.append(line)
            unusual.append(line)
    flat = _TAG.sub(lambda m: _flat(m[0]), code)
    filled: list[tuple[int, str, str]] = []
    text = _rendered(flat, resolve, variables, filled)
    return Raw(text=text, filtered=filtered, incremental=tuple(lines), unusual=tuple(unusual), filled=tuple(filled))


def _flat(tag: str) -> str:
    """A tag on one line, without control of white space, followed by as many lines as it had: lines stay what they
    are."""
    if tag.startswith("{#"):
        return "\n" * tag.count("\n")
    inner = re.sub(r"\s*\n\s*", " ", tag[2:-2].removeprefix("-").removesuffix("-"))
    return f"{tag[:2]} {inner} {tag[-2:]}" + "\n" * tag.count("\n")


def _rendered(code: str, resolve: Resolve, variables: Mapping[str, object], filled: list[tuple[int, str, str]]) -> str:
    environment = ImmutableSandboxedEnvironment(keep_trailing_newline=True, autoescape=False)
    try:
        tree = environment.parse(code)
    except TemplateError as error:
        line = getattr(error, "lineno", 1) or 1
        raise Untranslatable("Jinja", why=f"it is not read: {error}", line=line) from None
    except RecursionError:
        raise Untranslatable("Jinja", why="it is nested too deeply") from None
    names = {n.name for n in tree.find_all(nodes.Name) if n.ctx == "store"}
    for node in _every(tree, 0):
        _allowed(node, names)

    def var(name: str, default: object = None) -> object:
        value, line = variables.get(name, default), _line_of(code, "var", (str(name),))
        if value is None:
            why = "neither the manifest nor a dbt_project.yml beside it says its value"
            raise Untranslatable(f"var('{name}')", why=why, line=line)
        filled.append((line, str(name), f"var('{name}') is {str(value)[:80]}"))
        return value

    def called(kind: str) -> Callable[..., str]:
        def call(*arguments: object, **_: object) -> str:
            texts = tuple(str(a) for a in arguments)
            return resolve(kind, texts, _line_of(code, kind, texts))

        return call

    globals_ = {
        "ref": called("ref"), "source": called("source"), "config": lambda *_, **__: "", "var": var,
        "is_incremental": lambda: False,
    }  # fmt: skip
    try:
        text = environment.from_string(tree).render(globals_)
    except TemplateError as error:
        raise Untranslatable("Jinja", why=f"it cannot be rendered: {error}", line=1) from None
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise Untranslatable("Jinja", why=f"it cannot be rendered: {error}", line=1) from None
    if len(text) > _LARGEST:
        raise Untranslatable("the model is too large", why=f"it renders to {len(text):,} characters")
    return text


def _every(node: nodes.Node, loops: int) -> Iterator[nodes.Node]:
    """All nodes; Untranslatable for loops within loops within loops."""
    yield node
    deeper = loops + isinstance(node, nodes.For)
    if deeper > 2:
        raise Untranslatable("Jinja", why="loops are nested too deeply", line=node.lineno)
    if isinstance(node, nodes.If) and _incremental(node.test):
        yield node.test
        for child in [*node.elif_, *node.else_]:
            yield from _every(child, deeper)
        return  # what is_incremental() adds is not rendered
    for child in node.iter_child_nodes():
        yield from _every(child, deeper)


def _incremental(test: nodes.Node) -> bool:
    return isinstance(test, nodes.Call) and isinstance(test.node, nodes.Name) and test.node.name == "is_incremental"


def _allowed(node: nodes.Node, names: set[str]) -> None:
    fix = "run `dbt compile --full-refresh`, and import the manifest that it writes: what macros come to is in it then"
    if isinstance(node, nodes.Call):
        function = node.node
        if not (isinstance(function, nodes.Name) and function.name in _CALLS):
            said = getattr(function, "name", "") or getattr(function, "attr", "")
            why = "macros are not evaluated"
            raise Untranslatable(f"`{{{{ {said}(…) }}}}`", why=why, fix=fix, line=node.lineno)
        return
    plain = isinstance(node, _NODES)
    if isinstance(node, nodes.Filter):
        plain = node.name in _FILTERS
    if isinstance(node, nodes.Getattr):
        plain = isinstance(node.node, nodes.Name) and node.node.name == "loop"
    if isinstance(node, nodes.Name) and node.ctx == "load":
        plain = node.name in names or node.name in (*_CALLS, "loop", "true", "false", "none")
    if isinstance(node, nodes.For) and node.recursive:
        plain = False
    if not plain:
        said = getattr(node, "name", "") or type(node).__name__.lower()
        if isinstance(node, nodes.Getattr):
            said = f"{getattr(node.node, 'name', '…')}.{node.attr}"
        raise Untranslatable(f"Jinja: `{said}`", why="it is not evaluated", fix=fix, line=node.lineno)


def _line_of(code: str, kind: str, arguments: tuple[str, ...]) -> int:
    """The first line on which a call with these arguments is."""
    said = r"\s*,\s*".join(rf"['\"]{re.escape(a)}['\"]" for a in arguments)
    found = re.search(rf"{kind}\(\s*{said}", code)
    return code.count("\n", 0, found.start()) + 1 if found is not None else 1
