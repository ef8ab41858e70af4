"""Names that would make two things one, or show other text than is written, are refused with their file and line."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from backfill_assets.app.adopt import Adoption, adopt
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.errors import ProjectError, StateError
from backfill_assets.core.intervals import utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.project.loader import load_project
from backfill_assets.project.locations import wrong_environment
from backfill_assets.project.settings import load_settings
from backfill_assets.state.environment import Environments
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets_tests.fakes import days
from backfill_assets_tests.memory_store import MemoryStore
from backfill_assets_tests.projects import DAILY, small_project, write_project
from backfill_assets_tests.unsparked import build, unsparked

POINTER = Pointer(
    model="a", time_column="ds", timestamps=False, columns=(("ds", "date"),),
    segments=(Segment(version="1", commit=1, interval=days("01", "03")),),
)  # fmt: skip


def flipped(*names: str) -> Environments:
    environments = Environments(MemoryStore())
    for number, name in enumerate(names):
        environments.flip(
            environments.read(name), [POINTER], release=f"r{number}", at=utc("2024-01-05"), note=ReleaseNote(by="ana")
        )
    return environments


@pytest.mark.parametrize(
    "name",
    [
        "default", "DEFAULT", "global_temp", "Information_Schema", "sys", "system", "session", "spark_catalog",
        "plan_1f3a9c02", "PLAN_x", "pin_cfo", "plan-1f3a", "prod/releases", "/removals", "prod prod", "1prod", "",
        "x" * 129, "prod\x1b[31m", "prod\u202e", "pröd", "prod\n",
    ],
)  # fmt: skip
def test_environments_that_cannot_be(tmp_path: Path, name: str) -> None:
    """Reserved schemas, those of plans' candidates, and what is no schema's name."""
    (tmp_path / "backfill.yml").write_text(f"name: x\nenvironment: {json.dumps(name)}\n")
    if name == "prod\n":  # surrounding blanks are none of a name
        assert load_settings(tmp_path).environment == "prod"
        return
    assert wrong_environment(name)
    with pytest.raises(ProjectError, match="environment") as raised:
        load_settings(tmp_path)
    assert [p.line for p in raised.value.problems] == [2]


@pytest.mark.parametrize("other", ["PROD", "Prod", "pRoD"])
def test_no_environment_beside_one_in_other_letters(other: str) -> None:
    """Spark compares schemas without capital letters, so the second one would move the views of the first."""
    environments = flipped("prod")
    with pytest.raises(StateError, match=f"cannot be an environment {other} beside prod"):
        environments.flip(
            environments.read(other), [POINTER], release="r9", at=utc("2024-01-05"), note=ReleaseNote(by="ana")
        )
    assert environments.names() == ["prod"]


def test_no_model_beside_one_in_other_letters(tmp_path: Path) -> None:
    """Spark has one view of both: published rows would be others', and nobody would be asked."""
    root = small_project(tmp_path, days=2)
    place = unsparked(root)
    build(place)
    assert promote_plan(place).verdict.open
    (root / "models" / "daily.sql").rename(root / "models" / "Daily.sql")
    place = unsparked(root)
    for look in (place.facts, partial(promote_plan, place), partial(adopt, place, Adoption(model="Daily", table="t"))):
        with pytest.raises(StateError, match="cannot be a model Daily: prod shows daily"):
            look()
    environments = place.control.environments
    shown = environments.read("prod")
    other = replace(shown.pointers["daily"], model="Daily")
    with pytest.raises(StateError, match="keep the name daily"):
        environments.flip(shown, [other], release="r9", at=utc("2024-01-05"), note=ReleaseNote(by="ana"))
    moved = environments.flip(
        shown, [other], remove=["daily"], release="r9", at=utc("2024-01-05"), note=ReleaseNote(by="ana")
    )
    assert sorted(moved.pointers) == ["Daily", "running"]


def test_a_candidate_s_schema_is_its_own() -> None:
    """`plan-1f3a` has the schema plan_1f3a: whichever was first, the other is refused; different plans are fine."""
    environments = flipped("prod", "plan-1f3a", "plan-2b4c")
    with pytest.raises(StateError):
        environments.refuse_twin(environments.read("plan_1f3a"))
    environments.refuse_twin(environments.read("dev"))
    environments.refuse_twin(environments.read("prod"))


def test_two_people_begin_the_same_environment_in_other_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each looked before the other had committed: one of them is there, the other one is refused."""
    store = MemoryStore()
    ana, bo = Environments(store), Environments(store)
    moment, note = utc("2024-01-05"), ReleaseNote(by="x")
    look = bo.names

    def meanwhile(among: Collection[str] | None = None) -> list[str]:
        found = look(among)
        if not ana.names():
            ana.flip(ana.read("prod"), [POINTER], release="r1", at=moment, note=note)
        return found

    monkeypatch.setattr(bo, "names", meanwhile)
    with pytest.raises(StateError, match="there cannot be an environment PROD beside prod"):
        bo.flip(bo.read("PROD"), [POINTER], release="r2", at=moment, note=note)
    assert ana.names() == ["prod"]


@pytest.mark.parametrize("bad", ["\x1b[31mana", "ana\u202e", "a\u0000na", "ana\x9b2J", "ana\rbo"])
@pytest.mark.parametrize("where", ["owner", "people", "approvals"])
def test_control_characters(tmp_path: Path, where: str, bad: str) -> None:
    """In names of people and owners: refused, with the file and the line that they are in."""
    root = write_project(tmp_path, {"daily.sql": DAILY.format(batch_size=1, batch_concurrency=1)})
    file = root / "backfill.yml"
    if where == "owner":
        file = root / "models" / "daily.sql"
        file.write_text(file.read_text().replace("ana@example.com", json.dumps(bad), 1))
        line = 3
    elif where == "people":
        file.write_text("name: x\npeople:\n  ana@x:\n    accounts: [" + json.dumps(bad) + "]\n")
        line = 4
    else:
        file.write_text("name: x\napprovals:\n  owners:\n    growth: [" + json.dumps(bad) + "]\n")
        line = 4
    with pytest.raises(ProjectError, match=r"zero byte|control character") as raised:
        load_project(root)
    assert [(p.file, p.line) for p in raised.value.problems] == [(file, line)]


@pytest.mark.parametrize(
    "people",
    ["{a@x: {accounts: [ana]}, b@x: {accounts: [Ana]}}", "{a@x: {accounts: [b@x]}, b@x: {accounts: [bo]}}",
     "{a@x: {accounts: []}}", "{a@x: [ana]}", "[a]", "{a@x: {account: [ana]}}", "{a@x: {accounts: [null]}}"],
)  # fmt: skip
def test_people_that_are_none(tmp_path: Path, people: str) -> None:
    """An account of two people, one without accounts, and what is no such mapping."""
    (tmp_path / "backfill.yml").write_text(f"name: x\npeople: {people}\n")
    with pytest.raises(ProjectError, match="people"):
        load_settings(tmp_path)


def test_people_are_read(tmp_path: Path) -> None:
    """Each with all accounts; one may stand alone."""
    (tmp_path / "backfill.yml").write_text("people: {ana@x: {accounts: [ana, ana.k]}, bo@x: {accounts: bo}}\n")
    assert load_settings(tmp_path).people == {"ana@x": ("ana", "ana.k"), "bo@x": ("bo",)}
