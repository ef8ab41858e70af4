"""Routine runs go by what was promoted: code, and the audits that were promoted with it."""

from __future__ import annotations

from dataclasses import replace

from backfill_assets.build.apply import apply
from backfill_assets.contracts.publish import promoted_audits, publish_contracts
from backfill_assets.core.model import Audit, Model, Project
from backfill_assets.plan.published import published
from backfill_assets.project.stored import to_definition
from backfill_assets_tests.fakes import NOW, World, a_model, a_project

FIRST = a_model("a", "raw")
STRICT = replace(FIRST, audits=(Audit(name="strict", kind="range", arguments={"column": "id", "min": 1}),))


def released() -> World:
    world = World(FIRST)
    apply(world.bench(), world.plan())
    assert world.release().moved
    return world


def names(world: World, code: Model) -> list[str]:
    """The audits of a routine run while this code is loaded."""
    return [a.name for a in as_shown(world, code).models["a"].audits]


def as_shown(world: World, code: Model) -> Project:
    shown = world.control.environments.read("prod")
    audits = promoted_audits(world.control, "prod")
    return published(a_project(code), shown, world.control.versions.all(), audits)


def promote(world: World, code: Model) -> None:
    """What `backfill promote` records, also when nothing has to move."""
    publish_contracts(a_project(code), world.control, world.control.environments.read("prod"), ["a"], at=NOW)


def test_an_edited_audit_waits_for_its_promotion() -> None:
    """The same code with another audit: routine runs go by the old one, until `backfill promote`."""
    world = released()
    assert to_definition(FIRST)["audits"] != to_definition(STRICT)["audits"]
    assert names(world, FIRST) == names(world, STRICT) == ["rows_ok"]
    promote(world, STRICT)
    assert names(world, FIRST) == names(world, STRICT) == ["strict"]
    promote(world, FIRST)
    assert names(world, STRICT) == ["rows_ok"]


def test_no_audits_at_all_can_be_promoted() -> None:
    """Dropping all of them is a promotion as well."""
    world = released()
    promote(world, replace(FIRST, audits=()))
    assert names(world, FIRST) == []


def test_it_is_the_loaded_model_otherwise() -> None:
    """Its columns and its author's word are those of the code, whichever audits run."""
    world, project = released(), a_project(STRICT)
    project = replace(project, columns={"a": ()})
    shown = world.control.environments.read("prod")
    found = published(project, shown, world.control.versions.all())
    assert found.columns == {"a": ()} and found.models["a"].code == STRICT.code
