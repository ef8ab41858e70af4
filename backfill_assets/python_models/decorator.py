"""How does a Python function say that it is a model? `@model(...)`. Light: authors' files import it at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def model(**header: Any) -> Callable[[F], F]:
    """Mark a function as a model. Its arguments are the keys of a SQL header, and `upstream={parameter: name}`.

    At run time this only marks the function; the arguments are read from the source text, so they must be literals.
    """

    def mark(function: F) -> F:
        function.__backfill_model__ = True  # type: ignore[attr-defined]
        return function

    return mark
