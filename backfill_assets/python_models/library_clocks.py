"""Which functions of Python's libraries are the clock or chance?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backfill_assets.python_models.names import Names
from backfill_assets.sql.constant_texts import CLOCK_WORDS
from backfill_assets.sql.nondeterministic import Nondeterminism

_CLOCKS = (
    "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today",
    "time.time", "time.time_ns", "time.gmtime", "time.localtime", "time.strftime",
    "time.ctime", "time.asctime", "time.monotonic", "time.monotonic_ns", "time.perf_counter", "time.perf_counter_ns",
    "time.process_time", "time.process_time_ns", "time.thread_time", "time.thread_time_ns", "time.clock_gettime",
    "time.clock_gettime_ns", "pandas.Timestamp.now", "pandas.Timestamp.utcnow", "pandas.Timestamp.today",
    "pandas.Period.now",
)  # fmt: skip
_OF_A_TIME = {"time.asctime": 1, "time.gmtime": 1, "time.strftime": 2}
"""How many arguments these take when one of them is the time: they look at no clock then."""
_CALLS = {
    **dict.fromkeys(_CLOCKS, Nondeterminism.CLOCK),
    **dict.fromkeys(
        ("uuid.uuid1", "uuid.uuid4", "uuid.uuid6", "uuid.uuid7", "os.urandom", "os.getrandom"), Nondeterminism.CHANCE
    ),
}
_MAKE_TIMES = (
    "pandas.Timestamp", "pandas.to_datetime", "pandas.DatetimeIndex", "pandas.Period", "pandas.date_range",
    "pandas.bdate_range", "numpy.datetime64",
)  # fmt: skip
_CHANCE = ("random.", "secrets.", "numpy.random.")
_SEEDED = ("random.Random", "random.seed", "numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.seed")
_NOW = frozenset({"now", "utcnow", "today"})
"""What these libraries call whatever reads the clock."""
_OF_TIMES = ("datetime", "pandas", "pendulum", "arrow")
_HOLDERS = frozenset(n.rpartition(".")[0] for n in _CALLS) | {n.rstrip(".") for n in _CHANCE}


def holds_clocks(dotted: str) -> bool:
    """Whether a module or class has such functions beside others."""
    return dotted in _HOLDERS


def cause_of_mention(dotted: str) -> Nondeterminism | None:
    """Of a name that is handed on: what is called there nobody sees."""
    if dotted in _CALLS:
        return _CALLS[dotted]
    return Nondeterminism.CHANCE if dotted.startswith(_CHANCE) and dotted not in _SEEDED else None


def cause_of_call(dotted: str, call: ast.Call, names: Names) -> Nondeterminism | None:
    """Of a call of a name in full."""
    given = len(call.args) + len(call.keywords)
    if dotted in _OF_A_TIME and given >= _OF_A_TIME[dotted]:
        return None
    if dotted in _MAKE_TIMES:
        return Nondeterminism.CLOCK if any(map(_is_now, _texts(call, names))) else None
    if dotted in _SEEDED and given:
        return None
    library, _, name = dotted.partition(".")
    of_a_star = isinstance(call.func, ast.Name) and call.func.id not in names.imported
    if library in _OF_TIMES and name.rpartition(".")[2] in _NOW and not of_a_star:
        return Nondeterminism.CLOCK
    return Nondeterminism.CHANCE if dotted.startswith(_CHANCE) else cause_of_mention(dotted)


def is_now(node: ast.Attribute, names: Names) -> bool:
    """Whether a method is the clock of an instant that the model is given, as `interval.start.now` is."""
    return node.attr in _NOW and _of_interval(node.value, names)


def _of_interval(node: ast.expr, names: Names) -> bool:
    match node:
        case ast.Name(id="interval"):
            return True
        case ast.Name(id=name) if values := names.bound.get(name):
            return any(_of_interval(value, names.within(name)) for value in values)
        case ast.Attribute(value=of):
            return _of_interval(of, names)
        case ast.Call(func=ast.Name(id="type"), args=[of]) | ast.Call(func=ast.Attribute(value=of)):
            return _of_interval(of, names)
        case _:
            return False


def _texts(call: ast.Call, names: Names) -> Iterator[str]:
    given = [*call.args, *(k.value for k in call.keywords)]
    for item in [i for a in given for i in (a.elts if isinstance(a, ast.List | ast.Tuple) else [a])]:
        yield from names.texts(item) or ()


def _is_now(text: str) -> bool:
    return text.strip().lower() in CLOCK_WORDS
