"""Is the documentation site whole? It is built strictly: a dead link or a page outside of its nav is an error."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from backfill_assets_tests.projects import CHECKOUT
from backfill_assets_tests.tutorial import PAGE, plain

OTHER_HOST = re.compile(r"(?:<(?:script|img|iframe|source)[^>]*\ssrc|<link[^>]*\shref)=[\"']?(?:https?:)?//[^\s\"'>]+")
IN_STYLES = re.compile(r"url\([\"']?(?:https?:)?//|@import")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=CHECKOUT, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    """Each page of docs/ is one of the site."""
    pages = [page.relative_to(CHECKOUT / "docs") for page in (CHECKOUT / "docs").rglob("*.md")]
    assert len(pages) > 70
    assert [page for page in pages if not (site / page.with_suffix(".html")).is_file()] == []


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    """No script, style, font or image of a page; diagrams are SVG in it, and ask for no renderer."""
    pages = [page.read_text() for page in site.rglob("*.html")]
    assert [found for page in pages for found in OTHER_HOST.findall(page)] == []
    assert [sheet.name for sheet in site.rglob("*.css") if IN_STYLES.search(sheet.read_text())] == []
    assert sum(page.count('<div class="diagram"><svg') for page in pages) >= 5
    assert not [page for page in pages if 'class="mermaid"' in page or "[[[cog" in page]


def test_links_of_the_readme_lead_somewhere() -> None:
    """Each link to a file; and there are two commands in it, the main job and the tests."""
    text = (CHECKOUT / "README.md").read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if not link.startswith("http")]
    assert links and [link for link in links if not (CHECKOUT / link).exists()] == []
    assert text.count("```bash\n") == 2


def test_instants_and_ids_of_the_tutorial_are_no_promise() -> None:
    """What is compared of the tutorial's page is what a reader sees too: amounts and days stay."""
    text = plain(PAGE.read_text())
    assert "prod.daily_sales VERSION 2024-01-01..2024-01-07 was VERSION" in text
    assert "changed 2024-01-01 south 34.50 → 37.95" in text and not re.search(r"\br\d{14}-", text)
