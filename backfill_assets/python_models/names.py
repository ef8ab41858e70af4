"""Which function of a library does an expression of a Python file name? By its imports, and by what names stand for."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from backfill_assets.python_models.bindings import Bindings

_DEEPEST = 20
_MOST = 64
"""More ways to read one expression than these are not followed."""


@dataclass(frozen=True, slots=True)
class Names:
    """What the names in one statement of a file mean."""

    imported: Mapping[str, str]
    """In full."""
    stars: Sequence[str]
    """Modules of which everything is imported."""
    bound: Bindings

    def is_own(self, node: ast.expr) -> bool:
        """Whether it is a name that the file binds itself."""
        return isinstance(node, ast.Name) and node.id not in self.imported and node.id in self.bound

    def within(self, name: str) -> Names:
        """The same within what a name stands for, which may name it again."""
        return replace(self, bound={**self.bound, name: None})

    def spelled(self, node: ast.expr, depth: int = 0) -> list[str]:
        """The full names that an expression may be; none when it is no imported name, or cannot be read."""
        if depth > _DEEPEST:
            return []
        match node:
            case ast.Attribute(attr=attr, value=of):
                return [f"{module}.{attr}" for module in self.spelled(of, depth + 1)]
            case ast.Call(func=ast.Name(id="getattr"), args=[of, name, *_]):
                modules = self.spelled(of, depth + 1)
                return [f"{m}.{n}" for m in modules for n in (self.texts(name) or ()) if modules][:_MOST]
            case ast.Name(id=name) if name in self.imported:
                return [self.imported[name]]
            case ast.Name(id=name) if (values := self.bound.get(name)) is not None:
                inner = self.within(name)
                return [s for value in values for s in inner.spelled(value, depth + 1)][:_MOST]
            case ast.Name(id=name) if name not in self.bound:
                return [f"{module}.{name}" for module in self.stars]
            case _:
                return []

    def texts(self, node: ast.expr, depth: int = 0, hole: str | None = None) -> list[str] | None:
        """The texts that an expression may be; None where that cannot be read. `hole`: what stands for a part of a
        text that cannot be read."""
        if depth > _DEEPEST:
            return None
        match node:
            case ast.Constant(value=str() as text):
                return [text]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._joined([left, right], depth, hole)
            case ast.JoinedStr(values=parts):
                return self._joined(parts, depth, hole)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self.texts(value, depth + 1)
            case ast.Name(id=name) if name not in self.imported and (values := self.bound.get(name)) is not None:
                inner = self.within(name)
                found = [inner.texts(value, depth + 1) for value in values]
                return None if None in found else [t for texts in found for t in texts or ()][:_MOST]
            case _:
                return None

    def _joined(self, parts: Sequence[ast.expr], depth: int, hole: str | None) -> list[str] | None:
        whole = [""]
        for part in parts:
            found = self.texts(part, depth + 1, hole)
            if found is None and hole is not None:
                found = [hole]
            if found is None or len(whole) * len(found) > _MOST:
                return None
            whole = [before + text for before in whole for text in found]
        return whole


def imports(tree: ast.Module) -> tuple[dict[str, str], list[str]]:
    """What each imported name means, in full; and the modules of which everything is imported."""
    names: dict[str, str] = {}
    stars: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                names[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if alias.name == "*":
                    stars.append(node.module)
                else:
                    names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names, stars
