"""Routine runs go by what was promoted: code, and the audits that were promoted with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.contracts.publish import promoted_headers, publish_contracts
from backfill_assets.core.errors import PlanError
from backfill_assets.core.model import Audit, ColumnRef, Model, Project, Signature
from backfill_assets.plan.published import published
from backfill_assets.project.stored import to_definition
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import Version
from backfill_assets_tests.fakes import NOW, World, a_model, a_pointer, a_project, days

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
    audits = promoted_headers(world.control, "prod")
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


def test_the_grain_goes_with_them() -> None:
    """It is no part of the version either: what was promoted last counts, whatever code is loaded."""
    world = released()
    wide, other = replace(FIRST, grain=("ds", "Store")), replace(FIRST, code="SELECT 2", text="2")

    def grain(code: Model) -> tuple[str, ...]:
        return as_shown(world, code).models["a"].grain

    assert grain(wide) == grain(other) == FIRST.grain
    promote(world, wide)
    assert grain(wide) == grain(FIRST) == grain(other) == ("ds", "Store")
    promote(world, FIRST)
    assert grain(wide) == grain(other) == FIRST.grain


def test_it_is_the_loaded_model_otherwise() -> None:
    """Its columns and its author's word are those of the code, whichever audits run."""
    world, project = released(), a_project(STRICT)
    project = replace(project, columns={"a": ()})
    shown = world.control.environments.read("prod")
    found = published(project, shown, world.control.versions.all())
    assert found.columns == {"a": ()} and found.models["a"].code == STRICT.code


def shown_beside(columns: Mapping[str, str], code: Project) -> Project:
    """`r`, built over `a` of two columns, as routine runs extend it over a newer `a` that has these."""
    read = Signature(
        rows="r", columns={"top": "t"}, column_reads={"top": frozenset({ColumnRef(table="a", column="m")})}
    )
    old = Signature(rows="a", columns={"m": "one", "n": "other"})
    records = [
        a_version("a", "a-1", old),
        a_version("a", "a-2", replace(old, columns=columns)),
        a_version("r", "r-1", read, text="SELECT max(m) AS top FROM a", upstream={"a": "a-1"}),
    ]
    pointers = {"a": a_pointer("a", "a-2", days("01", "10")), "r": a_pointer("r", "r-1", days("01", "10"))}
    environment = Environment(name="prod", revision=3, pointers=pointers, releases={})
    return published(code, environment, {(v.model, v.version): v for v in records})


def a_version(model: str, version: str, signature: Signature, text: str = "SELECT 1", **more: object) -> Version:
    definition = to_definition(a_model(model, *(["a"] if model == "r" else ["raw"]), code=text))
    values: dict[str, object] = {"upstream": {}, "columns": (), "definition": definition, "created": NOW}
    return Version(model=model, version=version, signature=signature, **(values | more))  # type: ignore[arg-type]


NOW_N = a_model("r", "a", code="SELECT max(n) AS top FROM a", text="n")
"""The text that followed when the columns of `a` changed their names: the same version."""


def test_a_stored_text_reads_the_columns_that_it_meant() -> None:
    """More columns change nothing; where names are swapped, the loaded text of the version has the new ones."""
    code = a_project(a_model("a", "raw"), NOW_N, versions={"a": "2"})
    assert "max(m)" in shown_beside({"m": "one", "n": "other", "k": "more"}, code).models["r"].code
    assert "max(n)" in shown_beside({"m": "other", "n": "one"}, code).models["r"].code
    assert "max(n)" in shown_beside({"n": "one"}, code).models["r"].code


@pytest.mark.parametrize("versions", [{"a": "2", "r": "2"}, {"a": "3"}])
def test_no_text_has_the_present_names(versions: Mapping[str, str]) -> None:
    """Other code is loaded than what was promoted: a routine run would read another column, and says so."""
    code = a_project(a_model("a", "raw"), NOW_N, versions=versions)
    with pytest.raises(PlanError, match=r"a\.m is another column by now"):
        shown_beside({"m": "other", "n": "one"}, code)


def test_the_loaded_text_is_of_other_upstreams() -> None:
    """Code of before the names were swapped is loaded again: its text would read the other column as well."""
    code = a_project(a_model("a", "raw"), a_model("r", "a", code="SELECT max(m) AS top FROM a"))
    with pytest.raises(PlanError, match="another column by now"):
        shown_beside({"m": "other", "n": "one"}, code)
