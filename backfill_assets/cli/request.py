"""What is a command about? The options that `plan`, `apply` and `promote` share, as one Request."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from backfill_assets.core.errors import Problem, UsageError
from backfill_assets.core.escaping import one_line
from backfill_assets.files.texts import read_text
from backfill_assets.plan.ids import Ids, parse_ids
from backfill_assets.plan.request_options import APPLY_OPTIONS, REQUEST_OPTIONS, WHY, Option
from backfill_assets.plan.request_parsing import request_of
from backfill_assets.plan.stages import Request


def typed(option: Option, **more: Any) -> Any:
    """The option as typer declares it; `more` is what only typer knows of it."""
    if option.argument:
        return typer.Argument(metavar=option.metavar or None, help=option.help, **more)
    decls = [f"--{option.name}", *([f"-{option.short}"] if option.short else [])]
    metavar = option.metavar or None
    return typer.Option(*decls, metavar=metavar, help=option.help, min=option.least, max=option.most, **more)


_BY_NAME = {option.name: typed(option) for option in (*REQUEST_OPTIONS, WHY, *APPLY_OPTIONS)}
LARGEST_KEYS = 16_000_000
"""Bytes of a file of keys, at most: those that a plan takes are longer than what people write by hand."""
_TYPES: dict[type, Any] = {str: str | None, bool: bool, list: list[str] | None, Path: Path | None}
Start = Annotated[str | None, _BY_NAME["start"]]
End = Annotated[str | None, _BY_NAME["end"]]
Why = Annotated[str | None, _BY_NAME["why"]]
Promote = Annotated[bool, _BY_NAME["promote"]]
Sample = Annotated[str | None, _BY_NAME["sample"]]
By = Annotated[str | None, _BY_NAME["by"]]
Only = Annotated[list[str] | None, _BY_NAME["only"]]
Empty = Annotated[bool, _BY_NAME["empty"]]
NoWait = Annotated[bool, _BY_NAME["no-wait"]]
OutsideWindows = Annotated[str | None, _BY_NAME["outside-windows"]]


def explained(request: Request, why: str | None) -> Request:
    """The request with what its author says that it is for. Raises UsageError for words that say nothing."""
    return replace(request, why=request_of(why=why).why)


def with_request(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, whose first parameter is a Request, the options that make one."""
    first, *own = inspect.signature(command, eval_str=True).parameters.values()

    @functools.wraps(command)
    def run(**options: Any) -> None:
        said = {option.key: options.pop(option.key) for option in REQUEST_OPTIONS}
        said |= {key: _keys(file) for key, file in said.items() if isinstance(file, Path)}
        command(**{first.name: request_of(**{k: v for k, v in said.items() if v is not None})}, **options)

    shared = [
        inspect.Parameter(
            option.key,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if option.kind is bool else None,
            annotation=Annotated[_TYPES[option.kind], _BY_NAME[option.name]],
        )
        for option in REQUEST_OPTIONS
    ]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*shared, *own)]
    run.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _keys(file: Path) -> Ids:
    """The keys of a file, which is read once, here. Raises UsageError when it cannot be read, or says no keys."""
    problems: list[Problem] = []
    text = read_text(file, problems, largest=LARGEST_KEYS)
    if text is None:
        bad = problems[0]
        at = f"{file} line {bad.line}" if bad.line else str(file)
        raise UsageError(f"--ids {one_line(at)}: {bad.what}", why=bad.why, fix=bad.fix)
    return parse_ids(text, str(file))
