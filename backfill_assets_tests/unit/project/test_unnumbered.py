"""Records of 4096d34 hold no files, sources and settings: those of now are theirs if the hash of then says so.

`fixtures/unnumbered.json` has the files of ten models and the records that 4096d34 itself made of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from backfill_assets.core.model import Signature
from backfill_assets.project.loader import load_project
from backfill_assets.project.upgrade import Key, LoadedSettings, Stored, Unproved, signature_now
from backfill_assets_tests.projects import CHECKOUT

GOLDEN = json.loads((CHECKOUT / "backfill_assets_tests" / "fixtures" / "unnumbered.json").read_text())


def records() -> dict[Key, dict[str, Any]]:
    """What the table of versions holds of the ten."""
    return {
        (name, found["version"]): {
            **found["definition"],
            "upstream": found["upstream"],
            "signed": Signature(rows=found["rows"], columns=found["columns"]),
        }
        for name, found in GOLDEN["models"].items()
    }


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project whose models they are."""
    folder = tmp_path_factory.mktemp("project")
    for name, text in GOLDEN["files"].items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("key", [k for k in records() if k[0] != "helped"], ids=lambda k: k[0])
def test_each_is_proved_from_its_own_code(root: Path, key: Key) -> None:
    """Joins, windows, unions, stars, LATERAL VIEW, a merge, Python that is SQL and Python that is none."""
    project = load_project(root)
    assert signature_now(*key, records(), LoadedSettings.of(project)) == project.signatures[key[0]]


def why(model: str, stored: Mapping[Key, Stored], here: LoadedSettings) -> str:
    [key] = [k for k in stored if k[0] == model]
    with pytest.raises(Unproved) as refused:
        signature_now(*key, stored, here)
    return str(refused.value)


def test_modules_that_it_imports_are_not_in_its_record(root: Path) -> None:
    """They may have been others."""
    assert "does not hold models/_helper.py" in why("helped", records(), LoadedSettings.of(load_project(root)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("format: csv", "format: json"), ("path: data/events", "path: data/others"),
        ("amount: double", "amount: float"), ('header: "true"', 'header: "false"'), ("LAST_WIN", "EXCEPTION"),
        ("LAST_WIN", "LAST_WIN, spark.sql.ansi.enabled: false"),
    ],
)  # fmt: skip
def test_other_sources_or_settings_prove_nothing(root: Path, tmp_path: Path, old: str, new: str) -> None:
    """Whatever of them was hashed then has to be the same; what reads the model is not proved either."""
    for name, text in GOLDEN["files"].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text.replace(old, new))
    here = LoadedSettings.of(load_project(tmp_path))
    assert "the hash that daily had then does not come out" in why("daily", records(), here)
    assert "the hash that daily had then does not come out" in why("starred", records(), here)


def test_settings_that_were_not_hashed_then_prove_nothing(root: Path) -> None:
    """`ignoreCorruptFiles` counts by now: a record of then does not say whether it was set."""
    here = LoadedSettings.of(load_project(root))
    more = LoadedSettings(sources=here.sources, spark={**here.spark, "spark.sql.files.ignoreCorruptFiles": "true"})
    assert "do not say whether spark.sql.files.ignoreCorruptFiles was set" in why("daily", records(), more)


def test_a_source_that_is_gone_proves_nothing(root: Path) -> None:
    """Nobody knows any more what it was."""
    here = LoadedSettings.of(load_project(root))
    less = LoadedSettings(sources={n: s for n, s in here.sources.items() if n != "raw.users"}, spark=here.spark)
    assert "reads raw.users, which is no source" in why("joined", records(), less)


def test_code_that_is_not_what_was_hashed_proves_nothing(root: Path) -> None:
    """A record that somebody edited, an author's word of then, and variables that Spark replaced."""
    here, stored = LoadedSettings.of(load_project(root)), records()
    [key] = [k for k in stored if k[0] == "daily"]
    code = stored[key]["code"]
    stored[key]["code"] = code.replace("> 1", "> 2")
    assert "the hash that daily had then" in why("daily", stored, here)
    stored[key]["code"] = code.replace("kind,", "'${env:HOME}' AS kind,")
    assert "Spark replaced `${…}` in the text of daily" in why("daily", stored, here)
    stored[key]["code"] = code
    del stored[key]["signed"]
    assert "does not hold its files" in why("daily", stored, here)
