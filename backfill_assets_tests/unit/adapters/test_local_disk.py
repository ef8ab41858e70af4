"""Sessions on one machine write files without a process for each; jars of the package are those that were published."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from backfill_assets.adapters.local_disk import LOCAL_FILES_JAR, umask_settings
from backfill_assets.adapters.own_jar import OwnJar
from backfill_assets.adapters.session import _wanted
from backfill_assets.core.errors import SettingsError
from backfill_assets.core.settings import Settings
from backfill_assets_tests.own_jars import JARS

FILES, CONTEXT = "spark.hadoop.fs.file.impl", "spark.hadoop.fs.AbstractFileSystem.file.impl"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("backfill_assets.adapters.session.delta_jars", lambda _: [Path("/ivy/delta.jar")])
    monkeypatch.setattr("backfill_assets.adapters.session.java_build", lambda: "17")
    (tmp_path / "backfill.yml").write_text("name: tests\n")
    return tmp_path


def config(root: Path, **spark: str) -> dict[str, str]:
    return dict(_wanted(root, Settings(warehouse=str(root), spark=spark)).config)


def test_sessions_on_one_machine_have_it(root: Path) -> None:
    found = config(root)
    assert (found[FILES], found[CONTEXT]) == ("backfill_assets.LocalFiles", "backfill_assets.LocalFilesContext")
    assert str(LOCAL_FILES_JAR.path) in found["spark.driver.extraClassPath"].split(":")


@pytest.mark.parametrize(
    "spark",
    [
        {"spark.master": "spark://there:7077", "spark.driver.host": "10.0.0.5", "spark.driver.bindAddress": "0.0.0.0"},
        {FILES: "org.example.Files"},
        {CONTEXT: "org.example.Files"},
    ],
)
def test_others_have_not(root: Path, spark: dict[str, str]) -> None:
    """Executors elsewhere have no such class, and a class that a project names stays."""
    found = config(root, **spark)
    assert "backfill_assets.LocalFiles" not in str(found) and str(LOCAL_FILES_JAR.path) not in str(found)


def test_what_a_session_makes_has_the_rights_of_the_account(root: Path) -> None:
    """For the group all in a warehouse that is the group's, and for others what the umask says, at most to read; else,
    and where a project says it itself, it is Hadoop's to say, by whatever configuration."""
    key = "spark.hadoop.fs.permissions.umask-mode"
    before = os.umask(0o027)
    try:
        root.chmod(0o755)
        assert key not in config(root)
        assert not umask_settings({}, "s3://bucket/w") and not umask_settings({}, "hdfs://there/w")
        root.chmod(0o2775)
        assert config(root)[key] == "007"
        for umask in (0o002, 0o022, 0):
            os.umask(umask)
            assert config(root)[key] == "002"
        assert config(root, **{key: "077"})[key] == "077"
    finally:
        os.umask(before)


@pytest.mark.parametrize("jar", JARS, ids=lambda jar: jar.path.name)
@pytest.mark.parametrize("content", [b"another one", None])
def test_another_jar_is_refused(jar: OwnJar, content: bytes | None, tmp_path: Path) -> None:
    """Before a JVM loads it."""
    assert jar.checked() == jar.path
    other = tmp_path / jar.path.name
    if content:
        other.write_bytes(content)
    with pytest.raises(SettingsError, match="is not the jar that came with this release"):
        OwnJar(other, jar.sha256).checked()
