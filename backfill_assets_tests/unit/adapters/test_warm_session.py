"""Where a kept session is looked for, and of whom: nobody else's folder or process, and nothing that is in the way."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from backfill_assets.adapters import warm_session
from backfill_assets.adapters.warm_session import join, key_of, serve, socket_place
from backfill_assets.core.errors import StateError


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for sockets, with a short path: they have no long ones."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.delitem(warm_session.sys.modules, "dagster", raising=False)
        yield Path(folder)


def kept(home: Path, **more: Any) -> str:
    session: Any = MagicMock()
    return serve(session, home, "mine", idle=more.pop("idle", 5), ready=more.pop("ready", lambda: None))


def test_nothing_is_kept(temporary: Path, tmp_path: Path) -> None:
    """A command that finds none leaves nothing behind."""
    assert join(tmp_path, "mine") is None and list(temporary.iterdir()) == []


def test_others_folder(temporary: Path, tmp_path: Path) -> None:
    """A folder that others can enter stops no command, which goes on without; nothing is kept there."""
    folder = socket_place(tmp_path).parent
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    socket_place(tmp_path).touch()
    assert join(tmp_path, "mine") is None
    with pytest.raises(StateError, match="not this account's alone"):
        kept(tmp_path)


def test_what_is_left_of_one_that_was_killed(temporary: Path, tmp_path: Path) -> None:
    """Its socket is no hindrance: commands go on without, and another one is kept in its place, until it is idle."""
    place = socket_place(tmp_path)
    place.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(place))
    assert place.exists() and join(tmp_path, "mine") is None
    assert kept(tmp_path, idle=0.1) == "nobody used it for 0.00166667 minutes"
    assert not place.exists()


def test_no_room_for_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that is too long is said."""
    deep = tmp_path / ("a" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    assert join(tmp_path, "mine") is None
    with pytest.raises(StateError, match="no session can be kept") as said:
        kept(tmp_path)
    assert "TMPDIR" in said.value.fix


def test_other_settings_and_two_at_once(tmp_path: Path) -> None:
    """A command of other settings gets nothing; a second keeper is told that there is one."""
    ready = threading.Event()
    keeper = threading.Thread(target=kept, args=(tmp_path,), kwargs={"ready": ready.set, "idle": 1}, daemon=True)
    keeper.start()
    assert ready.wait(10)
    assert join(tmp_path, "others") is None
    with pytest.raises(StateError, match="kept for this project already"):
        kept(tmp_path)
    keeper.join(30)
    assert not keeper.is_alive()


def test_what_a_session_is_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and settings of Spark, and the environment that a JVM reads; not what we set ourselves."""
    (tmp_path / "spark-defaults.conf").write_text("spark.master local[2]\n")
    keys = [key_of(tmp_path, {})]
    monkeypatch.setenv("PYSPARK_PYTHON", "python")
    monkeypatch.setenv("OF_OTHERS", "1")
    assert key_of(tmp_path, {}) == keys[0]
    keys.append(key_of(tmp_path, {"spark.driver.memory": "2g"}))
    (tmp_path / "log4j2.properties").write_text("")
    keys.append(key_of(tmp_path, {}))
    for name in ("AWS_PROFILE", "JAVA_HOME", "SPARK_LOCAL_DIRS"):
        monkeypatch.setenv(name, "another")
        keys.append(key_of(tmp_path, {}))
    assert len(set(keys)) == 6
