"""The fuzzer asks what the product would say: the same as of a whole project's files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from backfill_assets.core.model import Project
from backfill_assets.plan.category import change_between
from backfill_assets.project.loader import load_project
from backfill_assets_tests.fuzz.case import Models, Pair
from backfill_assets_tests.fuzz.corpus import DIRECTED, read_corpus
from backfill_assets_tests.fuzz.data import PORTABLE
from backfill_assets_tests.fuzz.oracle import Claim, claim
from backfill_assets_tests.fuzz.pairs import pair
from backfill_assets_tests.fuzz.verdict import Refused, verdicts

HEADER = "/*\nstart: 2024-01-01\ngrain: [ds]\n*/\n"
SOURCES = {n: replace(spec, key=None) for n, spec in PORTABLE.items()}
"""Nobody vouches for a source's key."""


def test_the_fuzzer_judges_as_a_project_does(tmp_path: Path) -> None:
    """Twelve chains and an edit of each, as two projects: kept and changed is what the fuzzer was told."""
    asked: list[tuple[Pair, dict[str, tuple[Claim, str]]]] = []
    number = 0
    while len(asked) < 12:
        number += 1
        found = pair("project", number, spark=False)
        suffixed = replace(found, old=_dated(found.old, number), new=_dated(found.new, number), tables=SOURCES)
        try:
            said = verdicts(suffixed)
        except Refused:
            continue
        asked.append((suffixed, {name: (claim(v), str(v.change)) for name, v in said.items()}))
    old = _project(tmp_path / "old", {n: t for p, _ in asked for n, t in p.old.items()})
    new = _project(tmp_path / "new", {n: t for p, _ in asked for n, t in p.new.items()})
    seen: Counter[str] = Counter()
    for _, said in asked:
        for name, (kind, change) in said.items():
            seen[kind] += 1
            assert (old.fingerprints[name] == new.fingerprints[name]) == (kind is Claim.KEPT), name
            assert str(change_between(old.signatures[name], new.signatures[name])) == change, name
    assert seen[Claim.KEPT] > 2 and seen[Claim.ROWS] > 2


def _dated(models: Models, number: int) -> Models:
    """With what a model needs: a name of its own, a time column, an interval."""
    found: dict[str, str] = {}
    for name, text in models.items():
        for other in models:
            text = text.replace(f"FROM {other}", f"FROM {other}_{number}").replace(
                f"JOIN {other}", f"JOIN {other}_{number}"
            )
        found[f"{name}_{number}"] = f"SELECT *, DATE '2024-01-01' AS ds FROM ({text}) AS q WHERE :start < :end"
    return found


def _project(root: Path, models: Mapping[str, str]) -> Project:
    (root / "models").mkdir(parents=True)
    sources = [{"name": n, "path": f"data/{n}", "columns": dict(spec.columns)} for n, spec in SOURCES.items()]
    (root / "sources.yml").write_text(yaml.safe_dump({"sources": sources}))
    for name, text in models.items():
        (root / "models" / f"{name}.sql").write_text(HEADER + text + "\n")
    return load_project(root)


@pytest.mark.parametrize("line", ["{", '{"old": "SELECT 1"}', '{"old": "a", "new": {"b": "c"}}', "[]"])
def test_a_bad_line_of_a_corpus_is_named(line: str, tmp_path: Path) -> None:
    """A file of pairs with a line that is none: its number is said."""
    file = tmp_path / "pairs.jsonl"
    file.write_text(f"# pairs\n\n{line}\n")
    with pytest.raises(ValueError, match=r"pairs\.jsonl:3: not a pair"):
        list(read_corpus(file, spark=False))


def test_a_corpus_brings_its_own_tables(tmp_path: Path) -> None:
    """Tables, rows and keys of a pair are those that its line says."""
    file = tmp_path / "pairs.jsonl"
    line = '{"old": "SELECT a FROM m", "new": "SELECT b FROM m", "upstream": {"m": "SELECT * FROM s"}, "tables": '
    file.write_text(line + '{"s": {"columns": {"a": "int", "b": "array<int>"}, "key": ["a"], "rows": [[1, [2]]]}}}\n')
    (found,) = read_corpus(file, spark=True)
    assert list(found.old) == ["m", "model"] and found.edited == ("model",)
    assert found.tables["s"].key == {"a"} and found.rows["s"] == ((1, (2,)),)


def test_the_directed_pairs_can_be_read() -> None:
    """Every class of the file of directed pairs has several."""
    kinds = Counter(p.kind.split()[0] for p in read_corpus(DIRECTED, spark=True, datasets=(0,)))
    assert all(kinds[str(number)] > 1 for number in range(1, 9)), kinds
