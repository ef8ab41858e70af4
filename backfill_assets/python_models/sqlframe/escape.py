"""How does authors' code end that looks at something which its SQL does not show? With an Escape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

escaped: list[str] = []
"""Every Escape of this process, also those that the code went on after."""


class Escape(BaseException):
    """The function looked at something that its SQL does not show. No author's `except Exception` stops it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        escaped.append(what)  # even if somebody does stop it


def refusing(what: str) -> Callable[..., Any]:
    """A function or method that ends in an Escape."""

    def method(*args: Any, **kwargs: Any) -> NoReturn:
        raise Escape(what)

    return method
