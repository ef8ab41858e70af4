"""Is what is published whole? One wheel is built, without a network, and used where there is no checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from email.parser import Parser
from pathlib import Path

import pytest

from backfill_assets_tests.projects import CHECKOUT

DECLARED = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
VERSION = DECLARED["version"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def unpacked(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content, as an installer would lay it out."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(built / f"backfill_assets-{VERSION}-py3-none-any.whl") as wheel:
        wheel.extractall(folder)
    return folder


def files(*folders: str) -> list[str]:
    """The files of the checkout in these folders, save what Python made."""
    return [f"{folder}/{name}" for folder in folders for name in files_in(CHECKOUT / folder)]


def files_in(folder: Path) -> list[str]:
    return [p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc"]


def test_wheel_holds_the_package_and_its_settings(unpacked: Path) -> None:
    """Every file of the package (the demo's models among them), Spark's and Dagster's settings, the pages; no test."""
    names = set(files_in(unpacked))
    wanted = set(files("backfill_assets"))
    wanted |= {name.replace("spark-conf/", "backfill_assets/_spark_conf/") for name in files("spark-conf")}
    wanted |= {f"backfill_assets/_{name}" for name in files("docs")}
    wanted |= {"backfill_assets/_dagster.yaml", "backfill_assets/py.typed", "backfill_assets/demo/sources.yml"}
    assert {name for name in names if not name.startswith(f"backfill_assets-{VERSION}.dist-info/")} == wanted


def test_metadata(unpacked: Path) -> None:
    """Version, license and command; each extra that is declared brings something."""
    info = unpacked / f"backfill_assets-{VERSION}.dist-info"
    metadata = Parser().parsestr((info / "METADATA").read_text())
    assert (metadata["Version"], metadata["License-Expression"]) == (VERSION, "Apache-2.0")
    for extra in metadata.get_all("Provides-Extra", []):
        assert any(f"extra == '{extra}'" in said for said in metadata.get_all("Requires-Dist", [])), extra
    assert "backfill = backfill_assets.cli:main" in (info / "entry_points.txt").read_text()


def test_sdist_holds_what_the_wheel_and_its_tests_need(built: Path) -> None:
    """What somebody needs who builds from source, and nothing that was made in the checkout."""
    with tarfile.open(built / f"backfill_assets-{VERSION}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = [
        *files("backfill_assets", "backfill_assets_tests", "spark-conf", "docs"),
        "dagster.yaml",
        "pyproject.toml",
    ]
    assert set(needed) - names == set()
    assert not [name for name in names if re.search(r"(^|/)(\.venv|\.backfill|\.env|__pycache__|dist)(/|$)", name)]


def used(unpacked: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`backfill …` by the wheel's own files, in a folder outside the checkout."""
    environment: Mapping[str, str] = {k: v for k, v in os.environ.items() if not k.startswith("BACKFILL")}
    code = "import sys; sys.argv[0] = 'backfill'; from backfill_assets.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, text=True, capture_output=True, check=False,
        env={**environment, "PYTHONPATH": str(unpacked)},
    )  # fmt: skip


def test_wheel_works_outside_a_checkout(unpacked: Path, tmp_path: Path) -> None:
    """`init`, the plan of that project and what the embedded demo reads: all of it comes from the wheel."""
    assert used(unpacked, tmp_path, "--version").stdout == f"backfill {VERSION}\n"
    page = used(unpacked, tmp_path, "docs", "settings")
    assert page.returncode == 0 and page.stdout.startswith("# Settings"), page
    made = used(unpacked, tmp_path, "init", "shop")
    assert made.returncode == 0 and (tmp_path / "shop" / "backfill.yml").is_file(), made
    first = used(unpacked, tmp_path / "shop", "plan")
    assert first.returncode == 0 and "daily_revenue" in first.stdout and not (tmp_path / ".backfill").exists(), first
    demo = used(unpacked, tmp_path, "lineage", "roi_analysis")
    assert demo.returncode == 0 and "campaign_performance" in demo.stdout, demo
    asked = (
        "from pathlib import Path; from backfill_assets.adapters.machine import conf_dir; print(conf_dir(Path('.')))"
    )
    said = subprocess.run(
        [sys.executable, "-c", asked], cwd=tmp_path, text=True, capture_output=True, check=True,
        env={k: v for k, v in os.environ.items() if k != "SPARK_CONF_DIR"} | {"PYTHONPATH": str(unpacked)},
    )  # fmt: skip
    assert Path(said.stdout.strip()) == unpacked / "backfill_assets" / "_spark_conf"


def test_changelog_has_a_section_a_release() -> None:
    """Unreleased first, then releases with their dates, newest first, none newer than what is declared.

    Each has a heading of a kind of change once."""
    text = (CHECKOUT / "CHANGELOG.md").read_text()
    heads = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert heads[0] == "[Unreleased]"
    released = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - \d{4}-\d\d-\d\d", head) for head in heads[1:]]
    assert all(released)
    numbers = [tuple(map(int, found.groups())) for found in released if found]
    assert numbers == sorted(numbers, reverse=True) and all(n <= tuple(map(int, VERSION.split("."))) for n in numbers)
    for release in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.+)$", release, re.MULTILINE)
        assert len(kinds) == len(set(kinds)) and {*kinds} <= {
            "Security",
            "Added",
            "Changed",
            "Deprecated",
            "Removed",
            "Fixed",
        }
