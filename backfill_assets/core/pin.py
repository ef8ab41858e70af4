"""Do two pins say the same of a source? A pin is what a source was at a moment, and what is recorded of what was read.

`{"commit": 7, "table": id}` of a Delta table, by the id that its log gives it; `{"files": digest, "count": n,
"names": sum}`, the last of the files' names (`sum_of_names`); `{"unpinned": why}`. Records of older releases have no
table and no names: then nobody knows, and it counts as the one that is there.
"""

from __future__ import annotations

from collections.abc import Mapping

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


def _state(pin: Pin) -> Pin:
    return {key: value for key, value in pin.items() if key not in ("table", "names")}
