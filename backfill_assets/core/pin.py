"""Do two pins say the same of a source? A pin is what a source was at a moment, and what is recorded of what was read.

`{"commit": 7, "table": id}` of a Delta table, by the id that its log gives it; `{"files": digest, "count": n,
"names": sum}`, the last of the files' names (`sum_of_names`); `{"unpinned": why}`. Records of older releases have no
table and no names: then nobody knows, and it counts as the one that is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

Pin = Mapping[str, object]
Pins = Mapping[str, Pin]


def made_anew(then: Pin, now: Pin) -> bool:
    """Whether these are two Delta tables, one made at the other's place: commit 7 of one says nothing of the other.

    >>> made_anew({"commit": 7, "table": "a"}, {"commit": 7, "table": "b"}), made_anew({"commit": 7}, {"commit": 7})
    (True, False)
    """
    return "table" in then and "table" in now and then["table"] != now["table"]


def same_pin(one: Pin, other: Pin) -> bool:
    """Whether a source was the same both times.

    >>> same_pin({"commit": 7}, {"commit": 7, "table": "a"}), same_pin({"commit": 7}, {"commit": 8})
    (True, False)
    """
    if made_anew(one, other):
        return False
    return _state(one) == _state(other)


def same_inputs(one: Mapping[str, object] | None, other: Mapping[str, object] | None) -> bool:
    """Whether two batches read the same of everything: pins of sources, and what is recorded of models."""
    return one == other or (bool(one and other) and _states(one or {}) == _states(other or {}))


def state_of(pin: Pin) -> Pin:
    """A pin without what older releases did not write, and that says nothing of which state it is."""
    return {key: value for key, value in pin.items() if key != "names"}


def _states(inputs: Mapping[str, object]) -> dict[str, object]:
    return {name: state_of(cast(Pin, said)) if isinstance(said, Mapping) else said for name, said in inputs.items()}


def _state(pin: Pin) -> Pin:
    return {key: value for key, value in state_of(pin).items() if key != "table"}
