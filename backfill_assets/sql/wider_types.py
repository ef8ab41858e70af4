"""Of which plain types can files be read as which others? As wider ones, without a cast."""

from __future__ import annotations

import re

_INTEGERS = {"tinyint": 10, "smallint": 10, "int": 10, "bigint": 20}
"""From narrow to wide, with the digits that a decimal needs before its point: those of how Parquet stores them."""
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def widens(found: str, said: str) -> bool:
    """Whether files of the one plain type can be read as the other without a cast, each value being the same.

    What both of Spark's Parquet readers do is a yes; they do more, which loses something (`timestamp` as `bigint`).

    >>> [widens("int", said) for said in ("bigint", "double", "decimal(12,2)", "float", "string", "smallint", "date")]
    [True, True, True, False, False, False, False]
    >>> widens("bigint", "double"), widens("float", "double"), widens("date", "timestamp_ntz")
    (False, True, True)
    >>> widens("decimal(10,2)", "decimal(12,4)"), widens("decimal(10,2)", "decimal(11,4)")
    (True, False)
    """
    if (found, said) in (("float", "double"), ("date", "timestamp_ntz")):
        return True
    wide, narrow = _DECIMAL.fullmatch(said), _DECIMAL.fullmatch(found)
    whole = int(wide[1]) - int(wide[2]) if wide else 0
    if found in _INTEGERS:
        if wide:
            return whole >= _INTEGERS[found]
        order = list(_INTEGERS)
        larger = said in _INTEGERS and order.index(said) > order.index(found)
        return larger or (said == "double" and found != "bigint")
    if wide and narrow:
        more = int(wide[2]) - int(narrow[2]), whole - (int(narrow[1]) - int(narrow[2]))
        return min(more) >= 0 < max(more)
    return False
