"""`backfill docs`: the pages that messages name come with the program."""

from __future__ import annotations

import pydoc
import re

import pytest
from rich.console import Console
from typer.testing import CliRunner

from backfill_assets.cli import doc_pages as doc_pages_module
from backfill_assets.cli.app import app
from backfill_assets.cli.doc_pages import doc_pages
from backfill_assets.core.errors import UsageError
from backfill_assets_tests.projects import CHECKOUT


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["docs", *arguments], prog_name="backfill", catch_exceptions=False)
    return result.output


def test_pages_for_users_are_listed() -> None:
    rows = dict(re.split(r"  +", line.strip(), maxsplit=1) for line in said().splitlines())
    assert rows["settings"] == "Settings" and rows["how-to/restate"] == "Compute published days again"
    assert not [name for name in rows if name.startswith("decisions") or name.endswith("index")]


@pytest.mark.parametrize("name", ["settings", "docs/settings.md", "settings.md#approvals"])
def test_a_page_is_its_markdown(name: str) -> None:
    """As it is written, without what its tables are generated from."""
    text = (CHECKOUT / "docs" / "settings.md").read_text()
    shown = said(name)
    assert shown.startswith("# Settings\n") and "[[[cog" in text and "<!--" not in shown
    assert [line for line in text.splitlines() if line.startswith("| `")] == [
        line for line in shown.splitlines() if line.startswith("| `")
    ]


def test_a_page_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the pager."""
    paged: list[str] = []
    monkeypatch.setattr(doc_pages_module, "out", lambda: Console(force_terminal=True))
    monkeypatch.setattr(pydoc, "pager", paged.append)
    assert said("settings") == "" and paged[0].startswith("# Settings\n")


def test_a_page_that_is_none() -> None:
    with pytest.raises(UsageError) as refused:
        said("setings")
    assert "setings" in refused.value.what and "did you mean settings?" in refused.value.fix


def test_what_messages_name_is_there() -> None:
    """In the code, and in the settings that a new project begins with."""
    files = [f for end in ("py", "yml") for f in (CHECKOUT / "backfill_assets").rglob(f"*.{end}")]
    named = {name for file in files for name in re.findall(r"`backfill docs ([a-z_/-]+)`", file.read_text())}
    assert len(named) > 10 and named <= {*doc_pages()}
