"""An archive of classes is a cache: it is of one Java and its jars, this account's, whole, or it counts for nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from backfill_assets.adapters import class_archive
from backfill_assets.adapters.class_archive import archives, before_folders, sharing

JAVA = "openjdk 17"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache of the test's own, in which nothing was recorded."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(class_archive, "_LEAST_FREE_BYTES", 0)
    yield
    end_process()


def end_process() -> None:
    """What the end of a process does to its locks."""
    while class_archive._recording:
        class_archive._recording.pop().close()


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    (tmp_path / "a.jar").write_bytes(b"classes")
    return tmp_path / "a.jar"


def recording(java: str, path: str) -> Path:
    """Two sessions begin; the file that the JVM of the second one writes as it ends."""
    assert sharing(java, path, "") == ""
    return part_of(sharing(java, path, ""))


def part_of(options: str) -> Path:
    """The file that a JVM with these options writes as it ends."""
    [found] = [word for word in options.split() if word.startswith("-XX:ArchiveClassesAtExit=")]
    return Path(found.partition("=")[2])


def test_the_second_session_records_and_later_ones_take_it(jar: Path) -> None:
    """The first one starts as ever, and the second one records; while it does, others start as ever. What it left is
    taken by all that come later."""
    part = recording(JAVA, str(jar))
    assert sharing(JAVA, str(jar), "") == ""
    part.write_bytes(b"\xf0\x0b archive")
    end_process()
    options = sharing(JAVA, str(jar), "-XX:+UseParallelGC")
    [archive] = archives().glob("*.jsa")
    assert f"-XX:SharedArchiveFile={archive} " in options and archive.read_bytes() == b"\xf0\x0b archive"
    assert "+VerifySharedSpaces" in options
    assert sharing(JAVA, str(jar), "") == options


def test_half_an_archive_is_none(jar: Path) -> None:
    """A JVM writes the first bytes last: until then nobody takes the file."""
    part = recording(JAVA, str(jar))
    part.write_bytes(bytes(4096))
    end_process()
    assert part_of(sharing(JAVA, str(jar), "")).parent == part.parent
    assert not list(archives().glob("*.jsa"))


@pytest.mark.parametrize("other", ["java", "jar", "order"])
def test_of_other_classes_it_is_another_one(jar: Path, other: str) -> None:
    """Another Java, a jar of other content, another order of the jars: each is recorded anew."""
    second = jar.with_name("b.jar")
    second.write_bytes(b"more")
    recording(JAVA, f"{jar}:{second}").write_bytes(b"archive")
    end_process()
    if other == "jar":
        jar.write_bytes(b"other classes")
    java, path = ("openjdk 21", f"{jar}:{second}") if other == "java" else (JAVA, f"{jar}:{second}")
    assert recording(java, f"{second}:{jar}" if other == "order" else path).parent == archives()


@pytest.mark.parametrize("option", ["-Xshare:off", "-XX:SharedArchiveFile=of_ours.jsa", "-XX:ArchiveClassesAtExit=x"])
def test_who_has_an_option_of_their_own_keeps_it(jar: Path, option: str) -> None:
    """A configuration that says something about class data is not added to."""
    assert sharing(JAVA, str(jar), f"-Xmx1g {option}") == ""


def test_where_none_can_be_there_is_none(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in which others write, a path that Spark would split, a jar that is gone, hardly any room."""
    assert sharing(JAVA, str(jar), "") == ""
    for _ in range(2):
        assert sharing(JAVA, f"{jar}:{jar.with_name('gone.jar')}", "") == ""
    monkeypatch.setattr(class_archive, "_LEAST_FREE_BYTES", 2**60)
    assert sharing(JAVA, str(jar), "") == ""
    monkeypatch.setattr(class_archive, "_LEAST_FREE_BYTES", 0)
    archives().chmod(0o777)
    assert sharing(JAVA, str(jar), "") == ""
    archives().chmod(0o700)
    for place in ("my cache", jar.name):
        monkeypatch.setenv("XDG_CACHE_HOME", str(jar.with_name(place)))
        for _ in range(2):
            assert sharing(JAVA, str(jar), "") == ""


def test_an_account_without_a_home_has_none(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user is a number: the session starts as ever."""

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    assert sharing(JAVA, str(jar), "") == ""


def test_what_nobody_takes_goes(jar: Path) -> None:
    """An archive that was not taken for a month, and what a killed JVM left, are removed by whoever records."""
    archives().mkdir(parents=True, mode=0o700)
    old, left, new = (archives() / name for name in ("old.jsa", "killed.1.part", "new.jsa"))
    for file in (old, left, new):
        file.write_bytes(b"archive")
    for file in (old, left):
        os.utime(file, (0, 0))
    assert recording(JAVA, str(jar))
    assert (old.exists(), left.exists(), new.exists()) == (False, False, True)


@pytest.mark.skipif(shutil.which("java") is None, reason="what a JVM takes is asked of one")
def test_a_jvm_takes_it_and_refuses_a_damaged_one(tmp_path: Path) -> None:
    """A real JVM writes the archive and maps it; with a byte changed it starts without, and says nothing of it."""
    path = before_folders("")
    [launcher] = (Path(pyspark.__file__).parent / "jars").glob("spark-launcher_*.jar")
    assert path == str(launcher.with_name("*"))

    def loaded() -> str:
        """Where that JVM's classes came from."""
        log = tmp_path / "log"
        options = [*sharing(JAVA, str(launcher), "").split(), f"-Xlog:class+load:file={log}"]
        command = ["java", *options, "-cp", str(launcher), "org.apache.spark.launcher.Main", "SparkPi"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "Warning" not in done.stdout and "[warning]" not in done.stdout + done.stderr, done
        end_process()
        [line] = [line for line in log.read_text().splitlines() if " org.apache.spark.launcher.Main " in line]
        return line.partition("source: ")[2]

    assert loaded().startswith(("file:", "jar:"))  # the first one
    assert loaded().startswith(("file:", "jar:"))  # which records
    assert loaded() == "shared objects file (top)"
    [archive] = archives().glob("*.jsa")
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 0xFF
    archive.chmod(0o600)
    archive.write_bytes(content)
    assert loaded().startswith(("file:", "jar:"))
