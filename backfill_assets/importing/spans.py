"""How long is the time of which all rows have one value of an expression: a moment, a day, a week?

An interval holds all rows of a value only where it is as long, or longer, and consists of whole ones of such times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

MOMENT, UNKNOWN = "moment", "unknown"
CADENCES = {"hour": "hourly", "day": "daily", "week": "weekly", "month": "monthly"}
_LENGTHS = {"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month"}
_ROADS = (("moment", "hour", "day", "week"), ("moment", "hour", "day", "month", "quarter", "year"))
"""Each consists of whole ones of those before it; of weeks, months do not."""
_WORDS = {
    "moment": ("microsecond", "millisecond", "second", "sec", "minute", "min", "us", "ms", "mi"),
    "hour": ("hour", "hh", "hr", "h"),
    "day": ("day", "dd", "d", "ddd", "dy"),
    "week": ("week", "isoweek", "iso_week", "isowk", "isoww", "ww", "wk", "w", "iw"),
    "month": ("month", "mon", "mm"),
    "quarter": ("quarter", "qtr", "q"),
    "year": ("year", "yyyy", "yyy", "yy", "yr", "y"),
}
_SHORT = {"us": "microsecond", "ms": "millisecond", "sec": "second", "min": "minute", "mi": "minute"}
TRUNCATIONS = (exp.DateTrunc, exp.TimestampTrunc, exp.DatetimeTrunc)
_TO_DATES = (exp.Date, exp.TsOrDsToDate, exp.StrToDate, exp.TimeStrToDate, exp.DateStrToDate)
_SAME = (
    exp.Paren, exp.Alias, exp.Window, exp.Min, exp.Max, exp.AnyValue, exp.First, exp.Last, exp.FirstValue,
    exp.LastValue, exp.Lag, exp.Lead, exp.ArgMax, exp.ArgMin, exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.Trim,
    exp.TsOrDsToTimestamp, exp.StrToTime, exp.ParseTime, exp.UnixToTime, exp.StrToUnix, exp.TimeStrToTime,
    exp.Timestamp, exp.Datetime,
)  # fmt: skip
"""What gives one of the values that it is given, or another form of it."""
PARSED = ("to_timestamp", "to_date", "todate", "try_to_timestamp", "try_to_date", "parse_timestamp", "parse_date")


def longest(spans: Iterable[str]) -> str:
    """The shortest time that consists of whole ones of each.

    >>> longest(["day", "week"]), longest(["week", "month"])
    ('week', 'unknown')
    """
    wanted = set(spans)
    for road in _ROADS:
        if wanted <= set(road):
            return max(wanted, key=road.index, default=MOMENT)
    return UNKNOWN


def within(span: str, cadence: str) -> bool:
    """Whether an interval of a cadence consists of whole ones of a span."""
    return longest([span, _LENGTHS[cadence]]) == _LENGTHS[cadence]


def length(cadence: str) -> str:
    """The span of a cadence's intervals."""
    return _LENGTHS[cadence]


def truncated_to(node: exp.Expr) -> str:
    """The span of a truncation, such as date_trunc('week', …); empty for what is none."""
    if not isinstance(node, TRUNCATIONS):
        return ""
    return UNKNOWN if elsewhere(node) else _span_called(unit_of(node)) or UNKNOWN


def unit_of(node: exp.Expr) -> str:
    """The unit of a truncation as Spark calls it; `unknown` for one that it does not have, as weeks from Sunday."""
    unit = node.args.get("unit")
    if isinstance(unit, exp.WeekStart):
        return "week" if unit.name.upper() == "MONDAY" else UNKNOWN
    said = str(unit.name if isinstance(unit, exp.Expr) else unit or "").lower()
    for word in (said, said.removesuffix("s")):
        if span := _span_called(word):
            return _SHORT.get(word, word) if span == MOMENT else span
    return UNKNOWN


def _span_called(word: str) -> str:
    """The span that a word is for; empty where it is for none."""
    return next((span for span, words in _WORDS.items() if word in words), "")


def to_date(node: exp.Expr) -> bool:
    """Whether this makes a date of what it is given."""
    return (isinstance(node, _TO_DATES) and not elsewhere(node)) or (
        isinstance(node, exp.Cast) and node.to.this in (exp.DType.DATE, exp.DType.DATE32)
    )


def span_of(node: exp.Expr | None, known: Callable[[exp.Column], str | None]) -> str | None:
    """The span of an expression; None where it has no time of the input in it. `known` are the spans of columns."""
    match node:
        case exp.Column():
            return known(node)
        case exp.Expr() if (zoned := _zoned(node)) is not None:
            return _unknown(node, known) if elsewhere(node) else span_of(zoned, known)
        case exp.Expr() if to_date(node):
            return longest([span_of(node.this, known) or MOMENT, "day"])
        case exp.Cast() if node.to.this in (*exp.DataType.TEMPORAL_TYPES, *exp.DataType.TEXT_TYPES):
            return span_of(node.this, known)
        case exp.Expr() if isinstance(node, TRUNCATIONS):
            return longest([span_of(node.this, known) or MOMENT, truncated_to(node)])
        case exp.TimeToStr() | exp.ToChar() if (span := _formatted(node)) != UNKNOWN:
            return longest([span_of(node.this, known) or MOMENT, span])
        case exp.Extract() if node.name.lower() == "date":
            return longest([span_of(node.expression, known) or MOMENT, "day"])
        case exp.Trunc() if node.args.get("decimals") is None:  # of an instant, its date
            return longest([span_of(node.this, known) or MOMENT, "day"])
        case exp.Anonymous() if node.name.lower().startswith(PARSED) and node.expressions:
            span = "day" if "date" in node.name.lower() else MOMENT
            return longest([span_of(node.expressions[0], known) or MOMENT, span])
        case exp.Coalesce():
            return _one_of([node.this, *node.expressions], known)
        case exp.Case():
            return _one_of([*(i.args["true"] for i in node.args["ifs"]), node.args.get("default")], known)
        case exp.If():
            return _one_of([node.args["true"], node.args.get("false")], known)
        case exp.Expr() if isinstance(node, _SAME):
            return span_of(node.this, known)
        case exp.Expr():
            return _unknown(node, known)
        case _:
            return None


def start_of(node: exp.Expr | None, known: Callable[[exp.Column], str | None]) -> str | None:
    """Of which span the values of an expression are the first moments, such as Mondays; None where that is not seen.
    `known` says it of columns."""
    while isinstance(node, exp.Paren | exp.Alias | exp.Min | exp.Max | exp.Cast) or (
        node is not None and to_date(node)
    ):
        node = node.this
    if isinstance(node, exp.Column):
        return known(node)
    return truncated_to(node) or None if node is not None else None


def _one_of(nodes: Iterable[exp.Expr | None], known: Callable[[exp.Column], str | None]) -> str | None:
    spans = [s for s in (span_of(n, known) for n in nodes) if s is not None]
    return longest(spans) if spans else None


def _unknown(node: exp.Expr, known: Callable[[exp.Column], str | None]) -> str | None:
    return UNKNOWN if any(known(c) is not None for c in node.find_all(exp.Column)) else None


def _zoned(node: exp.Expr) -> exp.Expr | None:
    """What is converted to a time zone; None for what is no such conversion."""
    match node:
        case exp.AtTimeZone():
            return node.this
        case exp.ConvertTimezone():
            return node.args["timestamp"]
        case exp.Date() | exp.Datetime() | exp.Timestamp() | exp.TimestampTrunc() if elsewhere(node):
            return node.this
        case _:
            return None


def elsewhere(node: exp.Expr) -> bool:
    """Whether a time zone is said that is not UTC."""
    said = node.args.get("zone") or node.args.get("target_tz")
    if isinstance(node, exp.Datetime | exp.Timestamp):
        said = said or node.args.get("expression")
    return isinstance(said, exp.Expr) and said.name.upper() not in ("UTC", "GMT", "ETC/UTC")


def _formatted(node: exp.Expr) -> str:
    """The span of a text in a format that has a whole date in it."""
    said = node.args.get("format")
    text = said.name if isinstance(said, exp.Expr) else ""
    words = ("%Y", "%m", "%d") if isinstance(node, exp.TimeToStr) else ("YYYY", "MM", "DD")
    if "%F" in text or all(w in text for w in words):
        return "day"
    return UNKNOWN
