"""What do authors hold of what nobody can follow? A name that may be passed by, and not looked at."""

from __future__ import annotations

from typing import Any

from backfill_assets.python_models.sqlframe.escape import Escape, refusing


class Unknown:
    """Something that SQL does not show. Whatever is done with it ends in an Escape; `is`, too (`taint.py`)."""

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        object.__setattr__(self, "_what", what)

    def __getattribute__(self, name: str) -> Any:
        raise Escape(object.__getattribute__(self, "_what"))


_OPERATORS = (
    "add", "and", "bool", "call", "complex", "contains", "delattr", "delitem", "divmod", "enter", "eq", "exit", "float",
    "floordiv", "format", "ge", "getitem", "gt", "hash", "index", "instancecheck", "int", "invert", "iter", "le", "len",
    "lshift", "lt", "matmul", "mod", "mro_entries", "mul", "ne", "neg", "next", "or", "pos", "pow", "radd", "rand",
    "rdivmod", "repr", "reversed", "rfloordiv", "rlshift", "rmatmul", "rmod", "rmul", "ror", "round", "rpow", "rrshift",
    "rshift", "rsub", "rtruediv", "rxor", "setattr", "setitem", "str", "sub", "subclasscheck", "truediv", "xor",
)  # fmt: skip
for _operator in _OPERATORS:  # Python looks these up in the class, and asks no `__getattribute__`
    setattr(Unknown, f"__{_operator}__", refusing("something of another package, or that cannot be followed"))
