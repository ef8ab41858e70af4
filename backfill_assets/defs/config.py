"""What can the configuration of a job say? The options of its command, and they go together as they do there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from backfill_assets.core.errors import UsageError
from backfill_assets.plan.entities import sample_of
from backfill_assets.plan.options import check_options
from backfill_assets.plan.request_options import REQUEST_OPTIONS, SHARED, WHY, Amount, Option
from backfill_assets.plan.request_parsing import request_of
from backfill_assets.plan.stages import Request

_FIELDS = {
    str: dg.Noneable(str),
    Amount: dg.Any,
    Path: dg.Noneable(str),
    int: dg.Noneable(int),
    float: dg.Noneable(float),
    bool: bool,
    list: dg.Array(str),
}
_DEFAULTS = {str: None, Amount: None, Path: None, int: None, float: None, bool: False, list: []}


def config_fields(command: str) -> dict[str, dg.Field]:
    """The options of a command as the fields of its job's configuration."""
    return {option.key: _field(command, option) for option in SHARED[command]}


def given(command: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """What a job's configuration says, by the options' keys; what is empty is not given, unless it would narrow.

    Raises UsageError for values out of bounds, and for options that do not go together.
    """
    options = {option.key: option for option in SHARED[command]}
    narrow = {key for key, option in options.items() if option.narrows}
    found = {
        key: value
        for key, value in config.items()
        if value not in (None, False, [], "") or (value == "" and key in narrow)
    }
    for option in options.values():
        _check(option, config.get(option.key))
    if "by" in options and "sample" in options:
        sample_of(config.get("sample"), config.get("by"), key_of)
    check_options(command, [o.name.upper() if (o := options[key]).argument else o.name for key in found], key_of)
    return found


def asked(said: Mapping[str, Any]) -> Request:
    """The request among the options that are given. Raises UsageError for what is no day."""
    keys = {option.key for option in (*REQUEST_OPTIONS, WHY)}
    return request_of(**{k: v for k, v in said.items() if k in keys}, spell=key_of)


def key_of(option: str) -> str:
    """How a configuration spells an option."""
    return option.replace("-", "_")


def _field(command: str, option: Option) -> dg.Field:
    if option.choices:
        chosen = dg.Enum(f"{command}_{option.key}", [dg.EnumValue(choice) for choice in option.choices])
        return dg.Field(chosen, default_value=option.choices[0], description=option.help)
    if option.required:
        return dg.Field(dg.Array(str) if option.kind is list else str, description=option.help)
    return dg.Field(_FIELDS[option.kind], default_value=_DEFAULTS[option.kind], description=option.help)


def _check(option: Option, value: Any) -> None:
    if value is None:
        return
    low, high = option.least, option.most
    if (low is not None and value < low) or (high is not None and value > high):
        raise UsageError(f"{option.key}: {value}", why=f"it is not in {low}..{high}", fix="name a number in it")
    if option.choices and value not in option.choices:
        known = ", ".join(option.choices)
        raise UsageError(f"{option.key}: {value}", why=f"it is none of {known}", fix="name one of them")
