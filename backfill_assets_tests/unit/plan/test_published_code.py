"""What a routine run executes is what is shown, whatever code is loaded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.core.errors import PlanError
from backfill_assets.plan.published import published
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets_tests.fakes import a_project
from backfill_assets_tests.unit.promote.rollback_world import MODELS, ProjectHistory


@pytest.fixture
def history() -> ProjectHistory:
    """Version 1 of a, b and c is shown."""
    history = ProjectHistory()
    history.release()
    return history


def test_the_versions_that_are_shown(history: ProjectHistory) -> None:
    """The code of version 2 is loaded; its text is another one."""
    other = tuple(replace(m, code="SELECT 2", text="2", batch_size=9) for m in MODELS)
    loaded = a_project(*other, versions={"a": "2", "b": "2"})
    found = published(loaded, history.prod, history.world.control.versions.all())
    assert found.fingerprints == {"a": "a-1", "b": "b-1", "c": "c-1"}
    assert {m.code for m in found.models.values()} == {"SELECT 1"}
    assert {n: m.batch_size for n, m in found.models.items()} == {"a": 9, "b": 9, "c": 9}, "no part of a version"


def test_the_text_that_built_it(history: ProjectHistory) -> None:
    """A text that counts as the same has not been tried: the stored one runs. The same text is as it is loaded."""
    other = tuple(replace(m, code="SELECT 1 + 0", text="again") if m.name == "a" else m for m in MODELS)
    found = published(a_project(*other), history.prod, history.world.control.versions.all())
    assert found.models["a"].code == "SELECT 1"
    assert found.models["c"] is MODELS[2]


def test_the_same_text_of_another_version(history: ProjectHistory) -> None:
    """Something that it reads is another one: the model of the version that is shown runs."""
    other = tuple(replace(m, description="more") for m in MODELS)
    loaded = a_project(*other, versions={"b": "2"})
    found = published(loaded, history.prod, history.world.control.versions.all())
    assert {n: m.description for n, m in found.models.items()} == {"a": "more", "b": MODELS[1].description, "c": "more"}


def test_what_is_masked_by_now_is_masked(history: ProjectHistory) -> None:
    """Nobody should see it, also not in what a routine run of older code says; what was masked stays so."""
    other = tuple(replace(m, code="SELECT 2", text="2", mask=("Email",)) for m in MODELS)
    loaded = a_project(*other, versions={"a": "2", "b": "2"})
    found = published(loaded, history.prod, history.world.control.versions.all())
    assert all("Email" in m.mask for m in found.models.values())


def test_models_that_are_not_shown_are_left_out(history: ProjectHistory) -> None:
    history.world.control.environments.flip(
        history.prod, [], remove=["c"], release="r", at=history.now, note=ReleaseNote(by="ana")
    )
    found = published(history.world.project, history.prod, history.world.control.versions.all())
    assert set(found.models) == {"a", "b"}


def test_a_source_that_is_gone(history: ProjectHistory) -> None:
    gone = replace(history.world.project, sources={})
    with pytest.raises(PlanError, match="reads raw, which is gone"):
        published(gone, history.prod, history.world.control.versions.all())


def test_an_upstream_that_is_not_shown(history: ProjectHistory) -> None:
    """A model that was promoted alone: the remedy is to promote what it reads, too."""
    history.world.control.environments.flip(
        history.prod, [], remove=["a"], release="r", at=history.now, note=ReleaseNote(by="ana")
    )
    with pytest.raises(PlanError, match="b cannot be extended: it reads a, which prod does not show") as told:
        published(history.world.project, history.prod, history.world.control.versions.all())
    assert "backfill promote --select a" in told.value.fix
