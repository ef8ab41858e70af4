"""What does the documentation site need that mkdocs does not do itself? A hook of `mkdocs.yml`.

Diagrams become SVG when the site is built, so that no reader's browser asks another host for a renderer. Pages that are
not in docs/ (the changelog, how to contribute) are taken along; links to files of the code are shown as their names.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import mermaidx
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md")
"""Pages of the top folder."""
_COG = re.compile(r"<!-- \[\[\[(?:cog\n.*?\]\]\]|end\]\]\]) -->\n?", re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    """Decisions are listed by their numbers."""
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    for part in config.nav:
        if "Decisions" in part:
            part["Decisions"] = [f"decisions/{page.name}" for page in pages]
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages of the top folder are pages of the site."""
    for name in BESIDE:
        files.append(File.generated(config, name, content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Without what generates parts of it, and with its links as they are on the site."""
    folder = ROOT if page.file.src_uri in BESIDE else (ROOT / "docs" / page.file.src_uri).parent
    return _LINK.sub(lambda found: _linked(found, page.file.src_uri, folder), _COG.sub("", markdown))


def diagram(source: str, *_: object, **__: object) -> str:
    """A Mermaid text as SVG."""
    name = f"d{hashlib.sha256(source.encode()).hexdigest()[:10]}"
    svg = mermaidx.render(source).svg().replace("my-svg", name)
    return f'<div class="diagram">{svg}</div>'


def _linked(found: re.Match[str], page: str, folder: Path) -> str:
    text, target, anchor = found.groups()
    place = (folder / target).resolve()
    if not place.exists():
        raise PluginError(f"{page}: a link to {target}, which is not there")
    if place.parent == ROOT and place.name in BESIDE:
        shown = place.name
    elif place.is_relative_to(ROOT / "docs"):
        shown = place.relative_to(ROOT / "docs").as_posix() if page in BESIDE else ""
    else:  # a file of the code: it is not on the site
        return text
    if not shown:
        return found.group()
    back = os.path.relpath(shown, Path(page).parent).replace(os.sep, "/")
    return f"[{text}]({back}{anchor or ''})"
