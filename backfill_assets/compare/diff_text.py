"""How is a diff said in a few words? The lines and numbers that the terminal, Dagster and the packet share."""

from __future__ import annotations

from decimal import Decimal

from backfill_assets.compare.diff import ColumnMove, Keys, ModelDiff, RowCounts, Value, share


def old_side(model: ModelDiff, old: str) -> str:
    """What the old rows are of: the side's name, and until when it showed a model that it does not show any more."""
    return f"{old} (until {model.until} took it out)" if model.until else old


def row_line(model: ModelDiff) -> str:
    """What became of the rows."""
    rows = model.total.rows
    if not model.compared:
        return "no row had to be read" if model.proofs else "nothing to compare: no day is on both sides"
    parts = [f"{rows.old:,} rows → {rows.new:,}", *kinds(rows)]
    return "; ".join(parts)


def kinds(rows: RowCounts) -> list[str]:
    """`12 changed (0.4 %)`, for each kind that there is; what is unchanged comes last."""
    found: list[str] = []
    if rows.changed:
        found.append(f"{rows.changed:,} changed ({percent_text(rows.changed, rows.paired)} of those on both sides)")
    found += [f"{n:,} {name}" for name, n in (("added", rows.added), ("removed", rows.removed)) if n]
    if rows.unpaired_old or rows.unpaired_new:
        found.append(f"{rows.unpaired_old:,} and {rows.unpaired_new:,} without a pair, for their keys are not unique")
    return [*found, f"{rows.unchanged:,} unchanged"]


def key_lines(model: ModelDiff, old: str, new: str) -> list[str]:
    """What is wrong with the keys of each side; nothing when all is well."""
    key = ", ".join(c.name for c in model.columns if c.key)
    return [line for side, keys in ((old, model.old_keys), (new, model.new_keys)) for line in _keys(side, key, keys)]


def column_lines(model: ModelDiff) -> list[str]:
    """Columns that only one side has, or that changed their type or the letters of their name."""
    new = [f"{c.name} {c.new_type}" for c in model.columns if c.old_type is None]
    gone = [f"{c.name} {c.old_type}" for c in model.columns if c.new_type is None]
    found = [f"{what}: {', '.join(names)}" for what, names in (("new", new), ("gone", gone)) if names]
    return [*found, *letter_lines(model), *type_lines(model)]


def move_lines(model: ModelDiff) -> list[str]:
    """Columns that hold something else, in one line; in another those of which every row that is on both sides has the
    same value, so that rows that came or went are all of it."""
    rows = model.total.rows
    told = bool(rows.added or rows.removed) and not (rows.unpaired_old or rows.unpaired_new)
    alone = [m.column for m in model.moved if told and not m.changed]
    values = [m.column for m in model.moved if m.column not in alone]
    found = [f"moved: {', '.join(values)}"] if values else []
    return [*found, f"moved by rows that came or went alone: {', '.join(alone)}"] if alone else found


def letter_lines(model: ModelDiff) -> list[str]:
    """Columns that are written with other letters, in one line; none when there are none."""
    names = [f"{c.was} is called {c.name}" for c in model.columns if c.was]
    return [f"letters: {', '.join(names)}; readers that tell letters apart do not find the old name"] if names else []


def type_lines(model: ModelDiff) -> list[str]:
    """Columns that changed their type, in one line; none when there are none."""
    types = [
        f"{c.name} was {c.old_type}, is {c.new_type}" for c in model.columns if c.both and c.old_type != c.new_type
    ]
    return [f"type: {', '.join(types)}"] if types else []


def day_lines(model: ModelDiff, old: str, new: str) -> list[str]:
    """Which days were compared, which were not and why."""
    found = [f"compared {model.compared}"] if model.compared else []
    found += [f"unchanged, not read: {proof}" for proof in model.proofs]
    found += [f"only in {s}, not compared: {r}" for s, r in ((old, model.only_old), (new, model.only_new)) if r]
    return found


def percent_text(part: float, of: float) -> str:
    """A share in percent; a small one that is not nothing does not look like nothing.

    >>> percent_text(1, 3), percent_text(1, 1_000_000), percent_text(0, 5), percent_text(5, 5)
    ('33.3 %', '<0.1 %', '0 %', '100 %')
    """
    if not of or not part:
        return "0 %"
    value = 100 * part / of
    if value < 0.1:
        return "<0.1 %"
    return "100 %" if value == 100 else f"{min(value, 99.9):.1f} %"


def change(move: ColumnMove) -> str:
    """The sum's change relative to the old one, `+1.2 %`; nothing where there is none."""
    found = share(move)
    return "" if found is None else f"{100 * found:+.1f} %" if abs(found) >= 0.0005 else f"{100 * found:+.1g} %"


def say(value: Value) -> str:
    """A value for a table.

    >>> say(1234567), say(0.1 + 0.2), say(None), say(Decimal("1234.500000"))
    ('1,234,567', '0.3', 'NULL', '1,234.50')
    """
    match value:
        case None:
            return "NULL"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.2f}" if 1000 <= abs(value) < 1e15 else f"{value:.6g}"
        case Decimal():
            return f"{value:,.2f}" if abs(value) >= 1 or not value else _small(value)
        case _:
            return value if len(value) <= 24 else f"{value[:23]}…"


def say_both(one: Value, other: Value) -> tuple[str, str]:
    """An old and a new value: decimals with all of their digits where fewer would make them look the same.

    >>> say_both(Decimal("8.401000"), Decimal("8.404000")), say_both(Decimal("8.40"), Decimal("9.50"))
    (('8.401', '8.404'), ('8.40', '9.50'))
    """
    if isinstance(one, Decimal) and isinstance(other, Decimal) and one != other and say(one) == say(other):
        return f"{one.normalize():,f}", f"{other.normalize():,f}"
    return say(one), say(other)


def _small(value: Decimal) -> str:
    """
    >>> _small(Decimal("0.011600")), _small(Decimal("0.00000012"))
    ('0.0116', '1.2e-7')
    """
    text = f"{value:.6f}".rstrip("0")
    return f"{value.normalize():.3g}" if text.endswith(".") else text


def _keys(side: str, key: str, keys: Keys) -> list[str]:
    found: list[str] = []
    if keys.duplicate_keys:
        many = f"{keys.duplicate_keys:,} key{'s' * (keys.duplicate_keys != 1)} ({key})"
        found.append(f"{side} has {many} more than once, {keys.duplicate_rows:,} rows")
    if keys.null_rows:
        found.append(f"{side} has {keys.null_rows:,} row{'s' * (keys.null_rows != 1)} with NULL in the key ({key})")
    return found
