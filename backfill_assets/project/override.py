"""Is this code, by its author's word, the same as a version that is there already? The word, held against the records.

A word is about one text of the code: `same_as.code` names the version that the code would be by itself. Whatever
changes that (an edit, a change of what it reads) voids the word, and the model counts as what its code says.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from backfill_assets.core.errors import Problem
from backfill_assets.core.model import UNKNOWN, Model, Override, SameAs, Signature
from backfill_assets.core.wording import did_you_mean
from backfill_assets.project import algorithm
from backfill_assets.project.algorithm import version_of
from backfill_assets.project.records import Records


def check_overrides(
    root: Path, model: Model, own: Signature, records: Records, problems: list[Problem], warnings: list[Problem]
) -> tuple[Signature, Override | None]:
    """The signature that the model counts with, and the override if it holds; what is wrong with it otherwise.

    `own` is what the code says by itself. A word that does not hold changes nothing: the model is built.
    """
    said = model.same_as
    if said is None:
        return own, None
    record = records.get((model.name, said.version))
    if found := _wrong(model, said, own, records):
        problems += found
    elif record is None:
        why = "this warehouse has no record of it: it was never built here, or its name is misspelt"
        fix = "name the version that the plan says is shown, or remove `same_as`"
        warnings.append(_problem(model, said, f"there is no version {said.version} of {model.name}", why, fix))
    elif record.signature == UNKNOWN and said.columns:
        why = "an earlier release recorded it, without saying what decides its columns"
        what = f"only a whole table can be the same as version {said.version}"
        fix = "remove `columns` if all of them are, or remove `same_as`"
        warnings.append(_problem(model, said, what, why, fix))
    elif said.code != version_of(own):
        why = f"it is about code of version {said.code}; the code, or what it reads, is {version_of(own)} by now"
        if 0 < record.named_by < algorithm.ALGORITHM:
            why += ", perhaps only because this release makes hashes by other rules: nothing of then says what it was"
        fix = f"if it still gives the rows of version {said.version}, also from what it reads by now, write "
        fix += f"`code: {version_of(own)}`; otherwise remove `same_as`: it is built anew"
        warnings.append(_problem(model, said, "`same_as` does not count any more", why, fix))
    elif record.signature == UNKNOWN:  # nothing to compare with: it keeps the version's name, `state/upgrades.py`
        return own, Override(
            model=model.name, version=said.version, code=said.code, columns=record.columns, reason=said.reason,
            place=_problem(model, said, "").place(root),
        )  # fmt: skip
    else:
        columns = _vouched(model, said, own, record.signature)
        meant = replace(
            own,
            rows=record.signature.rows,
            columns={c: record.signature.columns[c] if c in columns else own.columns[c] for c in own.columns},
        )
        # A table of its own: that of one text must not pass for that of another, of which the same was said.
        there = (meant.rows, meant.columns) == (record.signature.rows, record.signature.columns)
        meant = replace(meant, code=record.signature.code if there else said.code)
        if (meant.rows, meant.columns) == (own.rows, own.columns):
            what, why = "`same_as` is not needed", "the code says so by itself"
            warnings.append(_problem(model, said, what, why, "remove it"))
            return own, None
        return meant, Override(
            model=model.name, version=said.version, code=said.code, columns=columns, reason=said.reason,
            place=_problem(model, said, "").place(root),
        )  # fmt: skip
    return own, None


def _wrong(model: Model, said: SameAs, own: Signature, records: Records) -> list[Problem]:
    """What cannot be meant, whatever else is there."""
    if not said.code:
        why = "an author's word is about one text of the code: a later edit must not go under it"
        fix = f"add `code: {version_of(own)}`, the version that the code is by itself now (in quotes if all digits)"
        return [_problem(model, said, "`same_as` does not say which code it is about", why, fix)]
    record = records.get((model.name, said.version))
    if record is None:
        others = sorted(name for name, version in records if version == said.version)
        if not others:
            return []
        fix = f"name a version of {model.name}, or remove `same_as`"
        return [_problem(model, said, f"version {said.version} is one of {', '.join(others)}", "", fix)]
    then = record.cadence, record.time_column, record.time_zone
    now = model.cadence.value, model.time_column, model.time_zone
    if then[0] and then != now:
        that, this = (f"{cadence} by {column}{f' in {zone}' if zone else ''}" for cadence, column, zone in (then, now))
        why = f"that is {that}, this is {this}: their intervals are not the same"
        what = f"{model.name} cannot be the same as version {said.version}"
        return [_problem(model, said, what, why, "remove `same_as`")]
    found: list[Problem] = []
    if record.signature == UNKNOWN:
        if own.columns and record.columns and set(own.columns) != set(record.columns):
            why = f"its table has {', '.join(record.columns)}; the code gives {', '.join(own.columns)}"
            what = f"{model.name} cannot be the same as version {said.version}"
            return [_problem(model, said, what, why, "remove `same_as`")]
        return []
    for column in said.columns:
        for there, whose in ((own.columns, f"`{model.name}`"), (record.signature.columns, f"version {said.version}")):
            if column not in there:
                fix = did_you_mean(column, list(there), f"use one of: {', '.join(there)}")
                found.append(_problem(model, said, f"`same_as`: {whose} has no column `{column}`", "", fix))
    return found


def _vouched(model: Model, said: SameAs, own: Signature, old: Signature) -> tuple[str, ...]:
    """The same rows are in the same intervals, so the time column is always among them."""
    chosen = {*said.columns, model.time_column.lower()} if said.columns else set(old.columns)
    return tuple(c for c in own.columns if c in chosen and c in old.columns)


def _problem(model: Model, said: SameAs, what: str, why: str = "", fix: str = "") -> Problem:
    return Problem(file=model.path, line=said.line, what=what, why=why, fix=fix)
