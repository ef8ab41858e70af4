"""Which tables does this SQL text name, and where? Parsing, references with positions, replacing names in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.dialects import Dialect
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from backfill_assets.sql.spark_syntax import JOINING_WORDS, readable, whole_texts

SPARK = Dialect.get_or_raise("spark")
WRITTEN_AS = "written_as"
"""The key of a node's meta data under which its function's name is, upper-cased, as it was written."""
STARTS_AT = "starts_at"
"""The key of a SELECT's meta data under which the offset of its first token is."""


MOST_UNIONS, MOST_PIPES = 1000, 200
_UNIONS, _PIPES = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT), (TokenType.PIPE_GT,)
TOO_DEEP = "it is nested too deeply to be understood"


_LACKS = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>")
_SIGNS = {"EQ": "=", "NEQ": "<>", "GT": ">", "GTE": ">=", "LT": "<", "LTE": "<=", "Add": "+", "Sub": "-", "Mul": "*",
          "Div": "/", "Mod": "%"}  # fmt: skip


_NEVER_BEHIND_COMMA = frozenset({
    TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.UNION,
    TokenType.SELECT, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.SEMICOLON, TokenType.COMMA,
})  # fmt: skip
_ANY_ROW = (exp.First, exp.FirstValue, exp.Last, exp.LastValue, exp.AnyValue)
_COMMENT = re.compile(r"--[^\r\n]*|/\*.*?\*/", re.DOTALL)
"""Comments in what is between two tokens. Of nested ones the end is left over, which begins no other."""


class _Parser(SparkParser):
    """Remembers where functions are and how they were written: sqlglot makes one node of some that differ (`size`,
    `array_size`)."""

    COLON_IS_VARIANT_EXTRACT = True
    """`parse_json(a):b`."""

    def _parse_function_call(self, *args: Any, **options: Any) -> exp.Expr | None:
        name, line = (self._curr.text, self._curr.line) if self._curr else ("", 1)
        found = super()._parse_function_call(*args, **options)
        if isinstance(found, exp.Expr) and not isinstance(found, exp.Query):
            found.meta.setdefault("line", line)
            if not isinstance(found, exp.Window):
                found.meta.setdefault(WRITTEN_AS, name.upper())
        return found

    def validate_expression(self, expression: Any, args: list[Any] | None = None) -> Any:
        """With more arguments than sqlglot knows of a function, it is one that nothing is known of: none gets lost."""
        known = not isinstance(expression, exp.Func) or expression.is_var_len_args
        if args and not known and len(args) > len(expression.arg_types):
            if isinstance(expression, _ANY_ROW) and len(args) == 2:  # `first_value(x, false)`: not IGNORE NULLS
                args = args[:1]
            else:
                expression, args = exp.Anonymous(this=expression.sql_name(), expressions=args), None
        return super().validate_expression(expression, args)

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
        """`struct(x a)`: an argument's name, without AS."""
        found = super()._parse_lambda(alias)
        named = self._curr and self._curr.token_type is TokenType.VAR
        if found and named and self._next and self._next.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            return self.expression(exp.Alias(this=found, alias=self._parse_id_var(any_token=True)))
        return found

    def _warn_unsupported(self) -> None:
        """Nothing is logged of statements that are kept as a text (`EXECUTE IMMEDIATE`): who parses refuses them."""

    def _parse_pipe_syntax_limit(self, query: exp.Select) -> exp.Select:
        for key in ("limit", "offset"):  # sqlglot counts on none that is None
            if query.args.get(key) is None:
                query.args.pop(key, None)
        return super()._parse_pipe_syntax_limit(query)

    def _parse_select(self, *args: Any, **options: Any) -> exp.Expr | None:
        first = self._curr
        found = super()._parse_select(*args, **options)
        if isinstance(found, exp.Select) and first and first.token_type is TokenType.SELECT:
            found.meta.setdefault(STARTS_AT, first.start)
        return found


class SqlError(Exception):
    """The text is not SQL; `line` counts from 1 within the text, `column` from 1 within its line (0: unknown)."""

    def __init__(self, why: str, line: int, column: int = 0) -> None:
        super().__init__(why)
        self.why, self.line, self.column = why, line, column

    @property
    def what(self) -> str:
        """That it is a mistake of the syntax, and where in its line."""
        return f"SQL syntax error{f' in column {self.column}' if self.column else ''}: this is not valid SQL"

    @property
    def fix(self) -> str:
        """What helps in a model."""
        return "correct the query at this line; a name that is a keyword as well goes in backticks: `select`"


class LargeQueryError(SqlError):
    """It has more parts than anybody wants to wait for: what follows columns through them is quadratic, or worse."""

    @property
    def what(self) -> str:
        return "this query is too large"

    @property
    def fix(self) -> str:
        return "make parts of it models of their own, or join a table of constants, which often says the same"


class LostTablesError(SqlError):
    """A set operation after the last pipe: Spark takes it, and the parser drops it, with the tables that it reads."""

    def __init__(self, word: str, line: int) -> None:
        super().__init__("it may belong to the last step or to all of them", line)
        self.word = word

    @property
    def what(self) -> str:
        return f"`{self.word}` behind a pipe (`|>`) is not understood"

    @property
    def fix(self) -> str:
        return f"put the query before it in parentheses, or pipe it on: `|> {self.word} … (SELECT …)`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A table named in a FROM or JOIN: text[start:end] is its name, `alias_at` where an alias would have to be put."""

    name: str
    line: int
    start: int
    end: int
    aliased: bool
    alias_at: int
    time_travel: bool
    node: exp.Table

    @property
    def key(self) -> str:
        """The name in the form in which names are compared."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Qualifier:
    """A column reference that starts with a table's dotted name: text[start:end] is what comes before its last part."""

    key: str
    start: int
    end: int
    node: exp.Column
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sql:
    """A parsed text. `statements` are its trees, `parameters` the named parameters with their lines. `columns_known`:
    whether the columns of the trees are the query's (`spark_syntax`)."""

    code: str
    tokens: tuple[Token, ...]
    statements: tuple[exp.Expr, ...]
    references: tuple[Reference, ...]
    qualifiers: tuple[Qualifier, ...]
    parameters: Mapping[str, int]
    columns_known: bool = True
    placeholders: tuple[exp.Placeholder, ...] = ()

    def copied(self) -> Sql:
        """The same with trees of its own, for whoever changes them."""
        return _sql(self.code, self.tokens, tuple(tree.copy() for tree in self.statements), self.columns_known)


def parse(code: str) -> Sql:
    """Parse SQL of the Spark dialect, less what sqlglot takes and Spark does not. Raises SqlError with the place."""
    try:
        tokens = whole_texts(code, SPARK.tokenize(code))
    except TokenError as error:
        line = code.count("\n", 0, error.end or 0) + 1
        raise SqlError("a string, a quoted name or a comment is not closed", line) from None
    _check_size(tokens)
    _check_pipes(tokens)
    _check_commas(code, tokens)
    _check_comments(code, tokens)
    found, columns_known = readable(tokens)
    try:
        trees = _Parser(error_level=ErrorLevel.IMMEDIATE, dialect=SPARK).parse(found, code)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        near = str(first.get("highlight") or "")
        why = _LACKS.sub(_lack, str(first.get("description") or error).rstrip("."))
        column = max(int(first.get("col") or 0) - max(len(near) - 1, 0), 0)
        raise SqlError(f"{why} near `{near}`" if near else why, int(first.get("line") or 1), column) from None
    except RecursionError:
        raise SqlError(TOO_DEEP, _deepest(tokens)) from None
    except Exception as error:  # the parser's own mistakes, over text that is no SQL
        raise SqlError(f"the parser cannot read it ({type(error).__name__})", 1) from None
    statements = tuple(t for t in trees if t is not None and not isinstance(t, exp.Semicolon))
    return _sql(code, tuple(tokens), statements, columns_known)


def _sql(code: str, tokens: tuple[Token, ...], statements: tuple[exp.Expr, ...], columns_known: bool) -> Sql:
    tables: list[exp.Table] = []
    columns: list[exp.Column] = []
    named: set[str] = set()
    placeholders: list[exp.Placeholder] = []
    for statement in statements:
        # sqlglot parses a hint as a text of its own: positions within it mean nothing here.
        for node in statement.walk(prune=lambda n: isinstance(n, exp.Hint)):
            if isinstance(node, exp.Table):
                tables.append(node)
            elif isinstance(node, exp.Column):
                if node.args.get("db"):
                    columns.append(node)
            elif isinstance(node, exp.Placeholder):
                named.add(node.name or "?")
                placeholders.append(node)
    behind = frozenset(t.start for before, t in pairwise(tokens) if before.token_type is TokenType.TABLE)
    references = tuple(r for t in tables if (r := _reference(tokens, t, behind)) is not None)
    dotted = {r.key for r in references if "." in r.name}
    return Sql(
        code=code,
        tokens=tokens,
        statements=statements,
        references=references,
        qualifiers=tuple(q for c in columns if (q := _qualifier(c, dotted)) is not None) if dotted else (),
        parameters=_parameters(tokens, named),
        columns_known=columns_known,
        placeholders=tuple(placeholders),
    )


def _check_size(tokens: Sequence[Token]) -> None:
    for kinds, most, name in ((_UNIONS, MOST_UNIONS, "UNION"), (_PIPES, MOST_PIPES, "|>")):
        found = [t for t in tokens if t.token_type in kinds]
        if len(found) > most:
            raise LargeQueryError(
                f"it has {name} {len(found):,} times, at most {most:,} are followed", found[most].line
            )


def _check_pipes(tokens: Sequence[Token]) -> None:
    """Raise LostTablesError for a set operation that follows the SELECT of a pipe."""
    piped = [False]
    for before, token in zip((None, *tokens), tokens, strict=False):
        kind = token.token_type
        if kind is TokenType.L_PAREN:
            piped.append(False)
        elif kind is TokenType.R_PAREN and len(piped) > 1:
            piped.pop()
        elif kind is TokenType.PIPE_GT:
            piped[-1] = True
        elif kind in _UNIONS and before and before.token_type is TokenType.PIPE_GT:
            piped[-1] = False  # what follows is its other side, up to the next pipe
        elif kind in _UNIONS and piped[-1] and before and before.token_type is not TokenType.STAR:
            raise LostTablesError(token.text.upper(), token.line)


def _check_commas(code: str, tokens: Sequence[Token]) -> None:
    for comma, following in pairwise([*tokens, None]):
        if comma is None or comma.token_type is not TokenType.COMMA:
            continue
        if following is None or following.token_type in _NEVER_BEHIND_COMMA:
            near = f"`{following.text}`" if following else "the end"
            column = comma.start - code.rfind("\n", 0, comma.start)
            raise SqlError(f"a comma that nothing follows, before {near}", comma.line, column)


def _check_comments(code: str, tokens: Sequence[Token]) -> None:
    if "\\\n" not in code and "\\\r" not in code:
        return
    for before, after in zip([-1, *(t.end for t in tokens)], [*(t.start for t in tokens), len(code)], strict=True):
        for comment in _COMMENT.finditer(code, before + 1, max(after, before + 1)):
            if comment[0].startswith("--") and comment[0].endswith("\\"):
                line = code.count("\n", 0, comment.start()) + 1
                column = comment.start() - code.rfind("\n", 0, comment.start())
                raise SqlError("a comment that ends with `\\` takes in the next line in Spark", line, column)


def named_by_text(sql: Sql) -> Iterator[int]:
    """The lines on which a text names a column, a table or a function: `IDENTIFIER('email')`."""
    for token, following in pairwise(sql.tokens):
        is_word = token.token_type is TokenType.VAR and token.text.upper() == "IDENTIFIER"
        if is_word and following.token_type is TokenType.L_PAREN:
            yield token.line


def splice(code: str, replacements: Mapping[str, str]) -> str:
    """The same text with other tables: `replacements` maps lower-cased dotted names to relation names.

    A reference without an alias gets its own last part as one, so that columns qualified with it still resolve; quoted
    where Spark takes the word for a part of a join.

    >>> splice("SELECT raw.events.id FROM raw.events -- all", {"raw.events": "v1"})
    'SELECT events.id FROM v1 AS events -- all'
    """
    sql = parse(code)
    edits: list[tuple[int, int, str]] = []
    for reference in sql.references:
        if (replacement := replacements.get(reference.key)) is None:
            continue
        alias = "" if reference.aliased else f" AS {_last_part(code, reference)}"
        if reference.alias_at == reference.end:
            edits.append((reference.start, reference.end, replacement + alias))
        else:
            edits.append((reference.start, reference.end, replacement))
            if alias:
                edits.append((reference.alias_at, reference.alias_at, alias))
    edits += [(q.start, q.end, "") for q in sql.qualifiers if q.key in replacements]
    for start, end, text in sorted(edits, reverse=True):
        code = code[:start] + text + code[end:]
    return code


def _lack(found: re.Match[str]) -> str:
    """sqlglot's name of what is incomplete, in SQL's words."""
    return f"`{_SIGNS.get(found[1], found[1].upper())}` lacks a part"


def _reference(tokens: Sequence[Token], table: exp.Table, behind: frozenset[int]) -> Reference | None:
    """A table's name in the text; `behind` the word TABLE are the tokens that begin at these offsets."""
    parts = table.parts
    if not all(isinstance(p, exp.Identifier) and p.meta_get("start") is not None for p in parts):
        return None  # a table-valued function, VALUES, …
    if len(parts) == 1 and _is_cte(table):
        return None
    first, last = parts[0], parts[-1]
    end = last.meta_get("end") + 1
    alias = table.args.get("alias")
    aliased = bool(alias and alias.this) or first.meta_get("start") in behind  # `TABLE t` takes none
    sampled = not aliased and table.args.get("sample") is not None
    return Reference(
        name=".".join(p.name for p in parts),
        line=first.meta_get("line"),
        start=first.meta_get("start"),
        end=end,
        aliased=aliased,
        alias_at=_after_sample(tokens, end) if sampled else end,
        time_travel=table.args.get("version") is not None,
        node=table,
    )


def _is_cte(table: exp.Table) -> bool:
    """Whether the name means a CTE of a WITH around it; within that WITH, only one before it (or itself: RECURSIVE)."""
    name = table.name.lower()
    node: exp.Expr = table
    inside: exp.CTE | None = None
    while (parent := node.parent) is not None:
        if isinstance(parent, exp.With):
            assert isinstance(node, exp.CTE)
            inside = node
        else:
            with_ = parent.args.get("with_")
            if isinstance(with_, exp.With):
                for cte in with_.expressions:
                    if cte is inside and not with_.recursive:
                        break
                    if cte.alias.lower() == name:
                        return True
                    if cte is inside:
                        break
            inside = None
        node = parent
    return False


def _qualifier(column: exp.Column, dotted: set[str]) -> Qualifier | None:
    parts = column.parts
    for length in range(len(parts) - 1, 1, -1):
        key = ".".join(p.name for p in parts[:length]).lower()
        start, end = parts[0].meta_get("start"), parts[length - 1].meta_get("start")
        if key in dotted and start is not None and end is not None:
            return Qualifier(key=key, start=start, end=end, node=column, dropped=length - 1)
    return None


def _deepest(tokens: list[Token]) -> int:
    """The line of the innermost parentheses."""
    depth, most, line = 0, 0, 1
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth > most:
            most, line = depth, token.line
    return line


def _after_sample(tokens: Sequence[Token], after: int) -> int:
    """The offset behind `TABLESAMPLE (…) [REPEATABLE (…)]`: Spark wants the alias there, not behind the name."""
    position, depth, end = after, 0, after
    for index, token in enumerate(tokens):
        if token.start < after:
            continue
        if token.token_type is TokenType.L_PAREN:
            depth += 1
        elif token.token_type is TokenType.R_PAREN:
            depth -= 1
            end = token.end + 1
            following = tokens[index + 1].text.upper() if index + 1 < len(tokens) else ""
            if depth == 0 and following != "REPEATABLE":
                return end
    return position if end == after else end


def _last_part(code: str, reference: Reference) -> str:
    last = reference.node.parts[-1]
    said = code[last.meta_get("start") : last.meta_get("end") + 1]
    return f"`{said}`" if said.upper() in JOINING_WORDS else said


def _parameters(tokens: Sequence[Token], named: set[str]) -> dict[str, int]:
    lines: dict[str, int] = dict.fromkeys(sorted(named), 1)
    for token, following in zip(reversed(tokens[:-1]), reversed(tokens), strict=False):
        if token.token_type is TokenType.COLON and following.text in named:
            lines[following.text] = token.line
    return lines
