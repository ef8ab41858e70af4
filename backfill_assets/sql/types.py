"""How does Spark spell this type? Type names in the form of Spark's `simpleString`."""

from __future__ import annotations

import re

_PRIMITIVES = {
    "boolean": "boolean", "tinyint": "tinyint", "byte": "tinyint", "smallint": "smallint", "short": "smallint",
    "int": "int", "integer": "int", "bigint": "bigint", "long": "bigint", "float": "float", "real": "float",
    "double": "double", "date": "date", "timestamp": "timestamp", "timestamp_ltz": "timestamp",
    "timestamp_ntz": "timestamp_ntz", "string": "string", "binary": "binary", "void": "void", "variant": "variant",
}  # fmt: skip
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|`[^`]+`|\d+|[<>(),:])")
_FIELD = re.compile(r"[A-Za-z_`]")
_LENGTH = re.compile(r"\b(?:var)?char\(\d+\)")
PADDED = ("char", "varchar")
MOST_DIGITS = 38
"""Of Spark's decimals."""
_LONGEST = 2**31 - 1
INTEGERS = ("tinyint", "smallint", "int", "bigint")
SAFE_CASTS = frozenset(
    {(a, b) for i, a in enumerate(INTEGERS) for b in INTEGERS[i:]}
    | {(a, "double") for a in ("tinyint", "smallint", "int", "float")}
    | {("date", "timestamp")}
)
"""(from, to) pairs of types that keep every value."""


def spark_type(text: str) -> str:
    """The type as Spark's `simpleString` spells it. Raises ValueError when Spark has no such type.

    >>> spark_type("DECIMAL(18, 4)"), spark_type("array<struct<a: long, b: string>>"), spark_type("integer")
    ('decimal(18,4)', 'array<struct<a:bigint,b:string>>', 'int')
    """
    tokens: list[str] = []
    position = 0
    stripped = text.rstrip()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if not match:
            raise ValueError(_unknown(text))
        tokens.append(match[1])
        position = match.end()
    tokens.append("")
    spelled, end = _parse(tokens, 0, text)
    if tokens[end]:
        raise ValueError(_unknown(text))
    return spelled


def in_yaml(kind: str) -> str:
    """A Spark type as a header has it: between quotes where YAML would take it apart.

    >>> in_yaml("bigint"), in_yaml("decimal(18,2)")
    ('bigint', '"decimal(18,2)"')
    """
    return f'"{kind}"' if "," in kind or ":" in kind else kind


def same_type(one: str, other: str) -> bool:
    """Whether two texts are of one type that a table has: neither the letters and quotes of its fields' names, nor the
    length that a `varchar` is declared with.

    >>> same_type("struct<`a`:varchar(10)>", "struct<A:string>"), same_type("int", "bigint")
    (True, False)
    """
    return _as_stored(one) == _as_stored(other)


def _as_stored(kind: str) -> str:
    return _LENGTH.sub("string", kind.replace("`", "")).lower()


def as_read(type_: str) -> str:
    """A declared type as Spark reads it: `char(n)` and `varchar(n)` columns are strings.

    >>> as_read("varchar(10)"), as_read("int")
    ('string', 'int')
    """
    return "string" if type_.startswith(PADDED) else type_


def safe_cast(source: str, target: str) -> bool:
    """Whether every value of one Spark type is a value of the other.

    >>> safe_cast("int", "bigint"), safe_cast("bigint", "int"), safe_cast("decimal(10,2)", "decimal(12,2)")
    (True, False, True)
    """
    if source == target or (source, target) in SAFE_CASTS:
        return True
    if source.startswith("decimal(") and target.startswith("decimal("):
        p1, s1 = map(int, source[8:-1].split(","))
        p2, s2 = map(int, target[8:-1].split(","))
        return s2 >= s1 and p2 - s2 >= p1 - s1
    return False


def is_number(kind: str) -> bool:
    """Whether a Spark type is one of numbers.

    >>> is_number("decimal(10,2)"), is_number("int"), is_number("interval day")
    (True, True, False)
    """
    return kind in (*INTEGERS, "float", "double") or kind.startswith("decimal")


def decimal_parts(name: str | None) -> tuple[int, int] | None:
    """Precision and scale of a decimal type, None for any other."""
    if not name or not name.startswith("decimal("):
        return None
    precision, scale = name[8:-1].split(",")
    return int(precision), int(scale)


def decimal(precision: int, scale: int) -> str:
    return f"decimal({precision},{scale})"


def _parse(tokens: list[str], at: int, text: str) -> tuple[str, int]:
    name = tokens[at].lower()
    if name in _PRIMITIVES:
        return _PRIMITIVES[name], at + 1
    if name in ("decimal", "dec", "numeric"):
        numbers, at = _numbers(tokens, at + 1, text)
        precision, scale = (*numbers, 0, 0)[:2] if numbers else (10, 0)
        if len(numbers) > 2 or not 1 <= precision <= MOST_DIGITS or scale > precision:
            raise ValueError(f"`{text}` is not a decimal that Spark has: decimal(precision up to {MOST_DIGITS}, scale)")
        return decimal(precision, scale), at
    if name in ("varchar", "char", "character"):
        numbers, at = _numbers(tokens, at + 1, text)
        if len(numbers) != 1 or not 1 <= numbers[0] <= _LONGEST:
            raise ValueError(f"`{text}` needs a length, as in {name}(10): 1 or more")
        return f"{'varchar' if name == 'varchar' else 'char'}({numbers[0]})", at
    if name == "array":
        inner, at = _parse(tokens, _skip(tokens, at + 1, "<", text), text)
        return f"array<{inner}>", _skip(tokens, at, ">", text)
    if name == "map":
        key, at = _parse(tokens, _skip(tokens, at + 1, "<", text), text)
        value, at = _parse(tokens, _skip(tokens, at, ",", text), text)
        return f"map<{key},{value}>", _skip(tokens, at, ">", text)
    if name == "struct":
        fields: list[str] = []
        names: set[str] = set()
        at = _skip(tokens, at + 1, "<", text)
        while not fields or tokens[at] == ",":
            at += bool(fields)
            field = tokens[at]
            if not _FIELD.match(field):
                raise ValueError(_unknown(text))
            if (folded := field.strip("`").lower()) in names:
                raise ValueError(f"`{text}` has the field {field} twice: Spark does not tell case apart")
            names.add(folded)
            at += 2 if tokens[at + 1] == ":" else 1
            inner, at = _parse(tokens, at, text)
            fields.append(f"{field}:{inner}")
        return f"struct<{','.join(fields)}>", _skip(tokens, at, ">", text)
    raise ValueError(_unknown(text))


def _numbers(tokens: list[str], at: int, text: str) -> tuple[list[int], int]:
    numbers: list[int] = []
    if tokens[at] != "(":
        return numbers, at
    while not numbers or tokens[at] == ",":
        if not (tokens[at + 1].isascii() and tokens[at + 1].isdigit() and len(tokens[at + 1]) <= 10):
            raise ValueError(_unknown(text))
        numbers.append(int(tokens[at + 1]))
        at += 2
    return numbers, _skip(tokens, at, ")", text)


def _skip(tokens: list[str], at: int, expected: str, text: str) -> int:
    if tokens[at] != expected:
        raise ValueError(_unknown(text))
    return at + 1


def _unknown(text: str) -> str:
    return f"`{text}` is not a type that Spark knows (such as bigint, double, string, date, timestamp, decimal(18,4))"
