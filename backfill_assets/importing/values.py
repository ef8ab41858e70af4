"""Of which type is this expression, and does it mean the same in Spark? A list of what does; all else is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from backfill_assets.importing.found import Untranslatable
from backfill_assets.sql.types import MOST_DIGITS

_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_INTEGERS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,6})?)?")
_SPARK = ("spark", "databricks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """An expression's type: integer, decimal, double, text, boolean, date, timestamp, null, or other.

    `digits` and `scale` are those of Spark's decimal that holds a number. `day`: it is within the row's interval,
    whichever rows are computed at once. `text` is that of a literal.
    """

    kind: str
    digits: int = 0
    scale: int = 0
    day: bool = False
    text: str | None = None

    @property
    def numeric(self) -> bool:
        return self.kind in ("integer", "decimal", "double")

    def spark(self) -> str:
        """Its Spark type: the widest integer, whichever it is; empty for one that is not known."""
        if self.kind == "decimal":
            return f"decimal({self.digits},{self.scale})"
        return {"integer": "bigint", "text": "string", "null": "", "other": ""}.get(self.kind, self.kind)


BOOLEAN, NULL, DOUBLE = Value(kind="boolean"), Value(kind="null"), Value(kind="double")
BIGINT = Value(kind="integer", digits=20)


def of_type(spark_type: str) -> Value:
    """The value that a column of a Spark type has."""
    name = " ".join(spark_type.lower().split())
    if name in _INTEGERS:
        return Value(kind="integer", digits=_INTEGERS[name])
    if (found := _DECIMAL.fullmatch(name)) is not None:
        return Value(kind="decimal", digits=int(found[1]), scale=int(found[2]))
    plain = {"string": "text", "timestamp_ntz": "timestamp"}.get(name, name)
    return Value(kind=plain if plain in ("double", "text", "boolean", "date", "timestamp") else "other")


Look = Callable[[exp.Column], Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionReader:
    """Reads expressions of one dialect. `look` says what a column is."""

    dialect: str
    look: Look
    line: int

    def read(self, node: exp.Expr, *, aggregates: bool = False) -> Value:
        """The value of an expression. Raises Untranslatable with the first part that is not on the list."""
        match node:
            case exp.Column():
                return self.look(node)
            case exp.Paren() | exp.Alias():
                return self.read(node.this, aggregates=aggregates)
            case exp.Literal():
                return self._literal(node)
            case exp.Boolean():
                return BOOLEAN
            case exp.Null():
                return NULL
            case exp.Cast() if type(node) is exp.Cast and set(filled(node)) <= {"this", "to"}:
                return self._cast(node, self.read(node.this, aggregates=aggregates))
            case exp.Date() | exp.TsOrDsToDate() if set(filled(node)) <= {"this", "safe"}:
                return self._to_date(node, self.read(node.this, aggregates=aggregates))
            case exp.And() | exp.Or():
                for side in (node.this, node.expression):
                    self._need_boolean(side, aggregates)
                return BOOLEAN
            case exp.Not():
                self._need_boolean(node.this, aggregates)
                return BOOLEAN
            case exp.EQ() | exp.NEQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
                sides = (self.read(node.this, aggregates=aggregates), self.read(node.expression, aggregates=aggregates))
                self._compared(node, *sides)
                return BOOLEAN
            case exp.Between() if set(filled(node)) <= {"this", "low", "high"}:
                value = self.read(node.this, aggregates=aggregates)
                for key in ("low", "high"):
                    self._compared(node, value, self.read(node.args[key], aggregates=aggregates))
                return BOOLEAN
            case exp.In() if set(filled(node)) <= {"this", "expressions"}:
                value = self.read(node.this, aggregates=aggregates)
                for item in node.expressions:
                    if not isinstance(item, exp.Literal):
                        raise self.refuse(item, why="only literals are known to mean the same in IN (…)")
                    self._compared(node, value, self.read(item))
                return BOOLEAN
            case exp.Is() if isinstance(node.expression, exp.Null):
                self.read(node.this, aggregates=aggregates)
                return BOOLEAN
            case exp.Like() if isinstance(node.expression, exp.Literal) and set(filled(node)) <= {"this", "expression"}:
                value = self.read(node.this, aggregates=aggregates)
                self._literal(node.expression)
                if value.kind != "text":
                    raise self.refuse(node, why=f"LIKE over {value.kind}, not text")
                return BOOLEAN
            case exp.Case() if node.args.get("this") is None:
                branches: list[Value] = []
                for branch in node.args["ifs"]:
                    self._need_boolean(branch.this, aggregates)
                    branches.append(self.read(branch.args["true"], aggregates=aggregates))
                default = node.args.get("default")
                branches.append(self.read(default, aggregates=aggregates) if default is not None else NULL)
                return self._one_type(node, branches)
            case exp.Coalesce() if set(filled(node)) <= {"this", "expressions"}:
                parts = [node.this, *node.expressions]
                return self._one_type(node, [self.read(p, aggregates=aggregates) for p in parts])
            case exp.Nullif():
                value = self.read(node.this, aggregates=aggregates)
                other = self.read(node.expression, aggregates=aggregates)
                if value.kind != other.kind:
                    raise self.refuse(node, why=f"it compares {value.kind} with {other.kind}")
                return replace(value, day=False, text=None)
            case exp.Add() | exp.Sub() | exp.Mul():
                left = self.read(node.this, aggregates=aggregates)
                return self._arithmetic(node, left, self.read(node.expression, aggregates=aggregates))
            case exp.Neg():
                value = self.read(node.this, aggregates=aggregates)
                if not value.numeric:
                    raise self.refuse(node, why=f"a minus before {value.kind}")
                return replace(value, text=None)
            case exp.Lower() | exp.Upper() | exp.Trim() if self.dialect in _SPARK and set(filled(node)) <= {"this"}:
                if self.read(node.this, aggregates=aggregates).kind != "text":
                    raise self.refuse(node, why="its argument is no text")
                return Value(kind="text")
            case exp.AggFunc() if aggregates:
                return self._aggregate(node)
            case exp.AggFunc():
                raise self.refuse(node, why="it aggregates where a row is looked at")
            case _:
                raise self.refuse(node)

    def refuse(self, node: exp.Expr, *, why: str = "") -> Untranslatable:
        """The error for an expression; its place is that of the first name in it, else the SELECT's."""
        lines = [i.meta_get("line") for i in node.find_all(exp.Identifier) if i.meta_get("line")]
        said = " ".join(node.sql(dialect=self.dialect, comments=False).split())
        return Untranslatable(
            f"`{said[:120]}`",
            why=why or f"it is not on the list of what is known to mean the same in {self.dialect} and here",
            fix="write the model's query for Spark yourself",
            line=min(lines, default=self.line),
        )

    def _literal(self, node: exp.Literal) -> Value:
        text = str(node.this)
        if node.is_string:
            if "\\" in text or any(c in text for c in "\r\n\t\0"):
                raise self.refuse(node, why="Spark reads backslashes in texts otherwise")
            return Value(kind="text", text=text)
        if re.fullmatch(r"\d{1,18}", text):
            return Value(kind="integer", digits=len(text))
        if re.fullmatch(r"\d{0,18}\.\d{1,18}", text):
            whole, _, after = text.partition(".")
            return Value(kind="decimal", digits=max(len(whole.lstrip("0")) + len(after), 1), scale=len(after))
        raise self.refuse(node, why="numbers of this form have different types")

    def _need_boolean(self, node: exp.Expr, aggregates: bool) -> None:
        if (found := self.read(node, aggregates=aggregates)).kind not in ("boolean", "null"):
            raise self.refuse(node, why=f"{found.kind} is taken for a truth value")

    def _to_date(self, node: exp.Expr, value: Value) -> Value:
        if value.kind not in ("date", "timestamp"):
            raise self.refuse(node, why=f"{value.kind} becomes a date by rules that differ")
        return Value(kind="date", day=value.day)

    def _cast(self, node: exp.Cast, value: Value) -> Value:
        target = of_type(node.to.sql(dialect="spark"))
        fine = (
            (target.kind == "date" and value.kind in ("date", "timestamp"))
            or (target.kind == "date" and value.text is not None and bool(_DATE.fullmatch(value.text)))
            or (target.kind == "timestamp" and value.kind in ("date", "timestamp"))
            or (target.kind == "timestamp" and value.text is not None and bool(_TIMESTAMP.fullmatch(value.text)))
            or (target.kind == "integer" and value.kind == "integer")
            or (target.kind == "double" and value.numeric)
            or (target.kind == "text" and value.kind in ("text", "integer", "date"))
            or (target.kind in ("boolean", "other") and value.kind == target.kind == "boolean")
            or (value.kind == "null" and target.kind != "other")
        )
        if not fine:
            raise self.refuse(node, why=f"a cast of {value.kind} to {node.to.sql(dialect=self.dialect)} may differ")
        return replace(target, day=value.day)

    def _compared(self, node: exp.Expr, left: Value, right: Value) -> None:
        kinds = {left.kind, right.kind}
        if "null" in kinds or (left.numeric and right.numeric) or kinds <= {"date", "timestamp"}:
            return
        if len(kinds) == 1 and "other" not in kinds:
            return
        for moment, text in ((left, right), (right, left)):
            form = {"date": _DATE, "timestamp": _TIMESTAMP}.get(moment.kind)
            if form is not None and text.text is not None and form.fullmatch(text.text):
                return
        raise self.refuse(node, why=f"it compares {left.kind} with {right.kind}")

    def _one_type(self, node: exp.Expr, values: list[Value]) -> Value:
        found = [v for v in values if v.kind != "null"]
        if not found:
            return NULL
        if all(v.numeric for v in found):
            if any(v.kind == "double" for v in found):
                return DOUBLE
            scale = max(v.scale for v in found)
            digits = scale + max(v.digits - v.scale for v in found)
            return self._fits(node, "decimal" if scale else _widest(found), digits, scale)
        if len({v.kind for v in found}) > 1 or found[0].kind == "other":
            raise self.refuse(node, why="its parts have different types")
        return Value(kind=found[0].kind)

    def _fits(self, node: exp.Expr, kind: str, digits: int, scale: int) -> Value:
        if kind == "decimal" and digits > MOST_DIGITS:
            raise self.refuse(node, why="Spark would round: its decimals have 38 digits")
        return Value(kind=kind, digits=digits, scale=scale)

    def _arithmetic(self, node: exp.Expr, left: Value, right: Value) -> Value:
        if not (left.numeric and right.numeric):
            raise self.refuse(node, why=f"{left.kind} and {right.kind}: only numbers are known to give the same")
        if "double" in (left.kind, right.kind):
            return DOUBLE
        kind = "decimal" if "decimal" in (left.kind, right.kind) else "integer"
        if isinstance(node, exp.Mul):
            return self._fits(node, kind, left.digits + right.digits + 1, left.scale + right.scale)
        scale = max(left.scale, right.scale)
        return self._fits(node, kind, max(left.digits - left.scale, right.digits - right.scale) + scale + 1, scale)

    def _aggregate(self, node: exp.AggFunc) -> Value:
        given = set(filled(node)) - {"big_int"}
        if type(node) is exp.Count and given <= {"this"}:
            inner = node.this
            if isinstance(inner, exp.Distinct):
                if len(inner.expressions) != 1 or inner.args.get("on") is not None:
                    raise self.refuse(node, why="of several columns NULLs count differently")
                inner = inner.expressions[0]
            if not isinstance(inner, exp.Star):
                self.read(inner)
            return BIGINT
        if type(node) in (exp.Sum, exp.Min, exp.Max, exp.Avg) and given <= {"this"}:
            if isinstance(node.this, exp.Distinct):
                raise self.refuse(node)
            value = self.read(node.this)
            if isinstance(node, exp.Min | exp.Max) and value.kind not in ("null", "other", "boolean"):
                return replace(value, day=False, text=None)
            if isinstance(node, exp.Sum) and value.kind in ("integer", "double"):
                return BIGINT if value.kind == "integer" else DOUBLE
            if isinstance(node, exp.Sum) and value.kind == "decimal":
                return replace(value, digits=min(MOST_DIGITS, value.digits + 10), text=None)
            if isinstance(node, exp.Avg) and value.kind in ("integer", "double"):
                return DOUBLE
        raise self.refuse(node)


def _widest(values: list[Value]) -> str:
    return "decimal" if any(v.kind == "decimal" for v in values) else "integer"


def filled(node: exp.Expr) -> list[str]:
    """The arguments that a node has, but for those that mean nothing."""
    return [key for key, value in node.args.items() if value not in (None, False, []) and not key.startswith("_")]
