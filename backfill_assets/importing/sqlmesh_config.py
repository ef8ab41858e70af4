"""What does a SQLMesh project's configuration say of all models? Read as text: a Python one by its literals alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from backfill_assets.core.errors import Problem
from backfill_assets.files.documents import Document, read_yaml
from backfill_assets.files.texts import read_text
from backfill_assets.importing.found import ToCheck
from backfill_assets.importing.header import plain

_YAML = ("config.yaml", "config.yml")
_DEFAULTS = ("dialect", "start", "owner", "cron", "kind")
_HARMLESS = frozenset({
    "gateways", "default_gateway", "default_connection", "default_test_connection", "default_scheduler", "project",
    "users", "notification_targets", "snapshot_ttl", "environment_ttl", "pinned_environments", "username",
    "variables", "default_target_environment", "log_limit", "cicd_bot", "format", "ui", "plan", "run", "linter",
    "disable_anonymized_analytics", "cache_dir", "janitor", "migration", "model_defaults",
    "environment_suffix_target", "physical_table_naming_convention", "model_naming", "physical_schema_mapping",
    "physical_schema_override", "auto_categorize_changes", "include_unmodified", "virtual_environment_mode",
})  # fmt: skip
"""Keys of a configuration that decide no row of a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The defaults of models, the project's variables, and what may change rows of all models (`checks`)."""

    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
    variables: Mapping[str, str | int | float | bool] = field(default_factory=dict[str, str | int | float | bool])
    checks: tuple[ToCheck, ...] = ()


def read_config(root: Path) -> Config:
    """What the project's configuration says; nothing of it is executed."""
    for name in _YAML:
        if (root / name).is_file():
            other = [ToCheck(model="", place="config.py:1", what="there is a Python configuration too: it is not read")]
            found = _yaml(root / name, name)
            twice = tuple(other) if (root / "config.py").exists() else ()
            return Config(defaults=found.defaults, variables=found.variables, checks=(*found.checks, *twice))
    if (root / "config.py").is_file():
        return _python(root / "config.py")
    why = "the dialect and the first day have to be said by each model"
    return Config(checks=(ToCheck(model="", place="config.yaml:1", what="there is no configuration", why=why),))


def _yaml(file: Path, name: str) -> Config:
    problems: list[Problem] = []
    text = read_text(file, problems)
    # Jinja, such as env_var(…), stands for texts: its value is not known here
    filled = re.sub(r"(['\"]?)\{\{[^\n}]*\}\}\1", '"jinja"', text) if text is not None else None
    document = read_yaml(filled, file, problems) if filled is not None else None
    if document is None or not isinstance(document.data, Mapping):
        said = [(p.line, p.what) for p in problems] or [(1, "the configuration is no mapping")]
        why = "nothing of it is known: the dialect and the first day have to be said by each model"
        return Config(checks=tuple(ToCheck(model="", place=f"{name}:{n}", what=w, why=why) for n, w in said))
    variables = document.data.get("variables")
    plain_values = {
        str(k).lower(): v
        for k, v in (variables.items() if isinstance(variables, Mapping) else ())
        if isinstance(v, str | int | float) and v != "jinja"
    }
    return Config(
        defaults=_defaults(document), variables=plain_values, checks=tuple(_odd(document, name)),
    )  # fmt: skip


def _defaults(document: Document) -> dict[str, str]:
    said = document.data.get("model_defaults") if isinstance(document.data, Mapping) else None
    found: dict[str, str] = {}
    for key, value in said.items() if isinstance(said, Mapping) else ():
        if str(key) in _DEFAULTS and isinstance(value, str | date) and value != "jinja":
            found[str(key)] = str(value)
    return found


def _odd(document: Document, name: str) -> Iterator[ToCheck]:
    """What may change rows of all models."""
    data = document.data
    assert isinstance(data, Mapping)
    why = "it may change the rows of all models there; it is not carried over"
    for key in data:
        if str(key) not in _HARMLESS:
            what = f"`{plain(str(key))}` of the configuration"
            yield ToCheck(model="", place=f"{name}:{document.line_of(str(key))}", what=what, why=why)
    if "session.timezone" in str(data).lower().replace(" ", "") and "UTC" not in str(data):
        what = "another time zone of the session"
        why_zone = "days are of UTC here"
        yield ToCheck(model="", place=f"{name}:{document.line_of('gateways')}", what=what, why=why_zone)
    defaults = data.get("model_defaults")
    for key, value in defaults.items() if isinstance(defaults, Mapping) else ():
        if str(key) not in _DEFAULTS or not isinstance(value, str | date) or value == "jinja":
            line = document.line_of("model_defaults", str(key))
            yield ToCheck(model="", place=f"{name}:{line}", what=f"`{plain(str(key))}` of model_defaults", why=why)


def _python(file: Path) -> Config:
    """The literals of `ModelDefaultsConfig(…)`, or of a mapping that it is given."""
    text = read_text(file, [])
    found: dict[str, str] = {}
    line = 1
    try:
        tree = ast.parse(text or "")
    except (SyntaxError, ValueError, RecursionError):
        tree = ast.Module(body=[], type_ignores=[])
    named = {
        t.id: n.value
        for n in tree.body
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Dict)
        for t in n.targets
        if isinstance(t, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", getattr(node.func, "attr", "")) != (
            "ModelDefaultsConfig"
        ):
            continue
        if found:
            continue  # the first of several configurations
        line = node.lineno
        for keyword in node.keywords:
            pairs = [(keyword.arg, keyword.value)]
            if keyword.arg is None and isinstance(keyword.value, ast.Name) and keyword.value.id in named:
                literal = named[keyword.value.id]
                pairs = [
                    (k.value, v)
                    for k, v in zip(literal.keys, literal.values, strict=True)
                    if isinstance(k, ast.Constant)
                ]
            for key, value in pairs:
                if key in _DEFAULTS and isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found[str(key)] = value.value
    why = "it is not executed: " + (
        f"read are {', '.join(f'{k} {v}' for k, v in found.items())}" if found else "nothing is known of it"
    )
    check = ToCheck(model="", place=f"config.py:{line}", what="a Python configuration", why=why)
    return Config(defaults=found, checks=(check,))
