"""Which names does the package offer, with which arguments? For docs/api.md, and for the test that holds them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from types import ModuleType

_QUOTED = re.compile(r"(: |-> )'([^']*)'")


def signatures(module: ModuleType) -> list[str]:
    """A line a name: a function with its arguments and types, a class with its constructor's and its own attributes."""
    lines: list[str] = []
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value):
            lines.append(f"class {name}{_plain(inspect.signature(value))}")
            attributes = {**dict.fromkeys(vars(value)), **dict.fromkeys(_set_by_init(value))}
            lines += [f"    {attribute}" for attribute in attributes if not attribute.startswith("_")]
        else:
            lines.append(f"{name}{_plain(inspect.signature(value))}")
    return lines


def module_page(module: ModuleType) -> str:
    """The same as Markdown, with the docstrings."""
    parts: list[str] = []
    for name in module.__all__:
        value = getattr(module, name)
        text = inspect.cleandoc(value.__doc__).split("\n\n>>>")[0]
        parts.append(f"## {name}\n\n```pyi\n{_stub(name, value)}\n```\n\n{text}\n")
    return "\n".join(parts)


def _stub(name: str, value: Callable[..., object]) -> str:
    """As a stub file has it, which is Python, in the style that all Python here has."""
    said = _folded(inspect.signature(value)).replace("'", '"')
    if inspect.isclass(value):
        return f"class {name}({value.__base__.__name__}):\n    def __init__{said.replace('(', '(self, ', 1)}: ..."
    return f"def {name}{said}: ..."


def _set_by_init(value: type) -> tuple[str, ...]:
    """The arguments of the constructor that are attributes of what it makes."""
    return tuple(name for name in inspect.signature(value).parameters if name in value.__init__.__code__.co_names)


def _plain(signature: inspect.Signature) -> str:
    """Annotations as they are written, without the quotes that a text has."""
    return _QUOTED.sub(r"\1\2", str(signature))


def _folded(signature: inspect.Signature) -> str:
    """An argument a line, where one line has no room."""
    text = _plain(signature)
    if len(text) < 90:
        return text
    names = [*map(_argument, signature.parameters.values())]
    first = next(i for i, p in enumerate(signature.parameters.values()) if p.kind is p.KEYWORD_ONLY)
    inner = "".join(f"    {line},\n" for line in [*names[:first], "*", *names[first:]])
    return f"(\n{inner}) -> {signature.return_annotation}"


def _argument(parameter: inspect.Parameter) -> str:
    return _QUOTED.sub(r"\1\2", str(parameter))
