"""Who reads the project's tables? `consumers.yml`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator

from backfill_assets.errors import Problem
from backfill_assets.snapshots.documents import did_you_mean
from backfill_assets.snapshots.model import Consumer
from backfill_assets.snapshots.sources import read_list
from backfill_assets.snapshots.validation import Names, Strict, Text, identifier, validate

CONSUMERS_FILE = "consumers.yml"


class _Entry(Strict):
    name: Annotated[str, BeforeValidator(identifier)]
    kind: Literal["dashboard", "export", "notebook", "agent", "report", "service"] = "dashboard"
    owner: Text = ""
    reads: Names
    description: Text = ""
    url: Text = ""


_FIXES = {
    "kind": "write dashboard, export, notebook, agent, report or service",
    "reads": "add `reads: [model, …]`: the models that it reads in prod",
}


def read_consumers(root: Path, models: list[str], problems: list[Problem]) -> dict[str, Consumer]:
    """The consumers by name; what they read is spelled as the models are. Problems are appended."""
    spelling = {m.lower(): m for m in models}
    consumers: dict[str, Consumer] = {}
    document, entries = read_list(root / CONSUMERS_FILE, "consumers", problems)
    for index, data in enumerate(entries):
        entry = validate(_Entry, document, data, problems, at=("consumers", index), fixes=_FIXES)
        if entry is None:
            continue
        if entry.name in consumers:
            what, why = f"two consumers are named `{entry.name}`", f"the other is at line {consumers[entry.name].line}"
            problems.append(document.problem("consumers", index, what=what, why=why, fix="rename one of them"))
            continue
        for position, name in enumerate(entry.reads):
            if name.lower() not in spelling:
                fix = did_you_mean(name, models, f"models are: {', '.join(sorted(models)) or 'none yet'}")
                what, why = f"`{entry.name}` reads `{name}`, which is not a model", "consumers read models only"
                problems.append(document.problem("consumers", index, "reads", position, what=what, why=why, fix=fix))
        consumers[entry.name] = Consumer(
            name=entry.name, kind=entry.kind, owner=entry.owner, description=entry.description, url=entry.url,
            reads=tuple(spelling.get(n.lower(), n) for n in entry.reads),
            file=document.file, line=document.line_of("consumers", index),
        )  # fmt: skip
    return consumers
