"""How is a query's parameter bound where the engine drops it? As the literal of its value, in the query's text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

from sqlglot.tokenizer_core import TokenType

from backfill_assets.sql.parsing import parse
from backfill_assets.sql.types import MOST_DIGITS

_EXTRACTED_FROM = frozenset(
    {TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.R_PAREN, TokenType.R_BRACKET}
)
"""What stands before the colon of `column:path`, which is no parameter."""


Value = str | bytes | bool | int | float | Decimal | date | datetime | None
"""What a parameter may be."""


def bound(code: str, values: Mapping[str, Value]) -> str:
    """The query with literals for its parameters; texts, comments and quoted names stay as they are. Raises SqlError,
    and as `fixed` does.

    >>> bound("SELECT ':start' FROM t -- :start\\nWHERE ds >= :start", {"start": date(2024, 1, 2)})
    "SELECT ':start' FROM t -- :start\\nWHERE ds >= DATE'2024-01-02'"
    """
    tokens, found = parse(code).tokens, code
    for at in range(len(tokens) - 2, -1, -1):
        colon, name = tokens[at], tokens[at + 1]
        if colon.token_type is not TokenType.COLON or name.text not in values:
            continue
        if at and tokens[at - 1].token_type in _EXTRACTED_FROM:
            continue
        found = found[: colon.start] + fixed(values[name.text]) + found[name.end + 1 :]
    return found


def fixed(value: Value) -> str:
    """The literal of a value: the same in every time zone of a session, and whatever its parser makes of backslashes.

    Raises TypeError for what is no Value, ValueError for an instant without a zone and a decimal that is none of SQL's.

    >>> fixed(date(2024, 1, 2)), fixed("it's"), fixed(-1)
    ("DATE'2024-01-02'", "CAST(X'69742773' AS STRING)", '(-1)')
    >>> fixed(datetime(2024, 1, 2, 3, tzinfo=UTC))
    "TIMESTAMP_LTZ'2024-01-02 03:00:00.000000+00:00'"
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int():
            return str(value) if value >= 0 else f"({value})"  # `1 -:n` is no comment
        case float():
            return f"CAST('{_DOUBLES.get(str(value), str(value))}' AS DOUBLE)"
        case Decimal():
            return _decimal(value)
        case str():
            return f"'{value}'" if _PLAIN.fullmatch(value) else f"CAST({fixed(value.encode())} AS STRING)"
        case bytes():
            return f"X'{value.hex()}'"
        case datetime():
            if value.tzinfo is None:
                raise ValueError(f"an instant without a time zone: {value}")
            return f"TIMESTAMP_LTZ'{value.astimezone(UTC).isoformat(sep=' ', timespec='microseconds')}'"
        case date():
            return f"DATE'{value.isoformat()}'"
        case _:
            raise TypeError(f"a parameter of a query is a text, a number, a day or an instant, not {type(value)}")


_PLAIN = re.compile(r"[A-Za-z0-9_ .:/-]*")
_DOUBLES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _decimal(value: Decimal) -> str:
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is no decimal in SQL")
    scale = max(-exponent, 0)
    digits = max(len(value.as_tuple().digits) + max(exponent, 0), scale)
    if digits > MOST_DIGITS:
        raise ValueError(f"{value} has more than {MOST_DIGITS} digits")
    return f"CAST('{value:f}' AS DECIMAL({digits},{scale}))"
