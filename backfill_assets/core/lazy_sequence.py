"""How is a sequence kept whose items few look at? It knows how many there are, and makes them for who looks at one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T", covariant=True)


class LazySequence(Sequence[T]):
    """Equal to any sequence of equal items."""

    __slots__ = ()

    @abstractmethod
    def _listed(self) -> Sequence[T]:
        """All items; made once."""

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self._listed()[at]

    def __iter__(self) -> Iterator[T]:
        return iter(self._listed())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
