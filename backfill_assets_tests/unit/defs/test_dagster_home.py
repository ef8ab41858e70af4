"""Is a Dagster home made once, found through `.env`, and never at the cost of the user's own lines?"""

from __future__ import annotations

import logging
from pathlib import Path

import dagster._cli.dev as dev
import pytest
from dagster._cli.workspace.cli_target import WorkspaceOpts
from dotenv import dotenv_values

from backfill_assets.core.errors import SettingsError
from backfill_assets.defs.dagster_home import ensure_home, ui_command
from backfill_assets.defs.dev import is_news
from backfill_assets_tests.projects import CHECKOUT, write_project


@pytest.fixture(autouse=True)
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DAGSTER_HOME", "SPARK_CONF_DIR", "BACKFILL_PROJECT"):
        monkeypatch.delenv(name, raising=False)


def test_home_is_made_and_remembered(tmp_path: Path) -> None:
    """The home lies in the project; `.env` names it, Spark's configuration and the project, all absolute."""
    write_project(tmp_path, {})
    home = ensure_home(tmp_path)
    assert home == tmp_path / ".dagster"
    assert "telemetry" in (home / "dagster.yaml").read_text()
    found = dotenv_values(tmp_path / ".env")
    assert found["DAGSTER_HOME"] == str(home)
    assert found["BACKFILL_PROJECT"] == str(tmp_path)
    assert (Path(str(found["SPARK_CONF_DIR"])) / "spark-defaults.conf").is_file()


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout on a file system that is read-only: what to do, and no traceback in `doctor`."""

    def refuse(self: Path, *_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", str(self))

    write_project(tmp_path, {})
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(SettingsError, match="no Dagster home can be made") as refused:
        ensure_home(tmp_path)
    assert "Read-only" in refused.value.why and "DAGSTER_HOME" in refused.value.fix


def test_again_changes_nothing(tmp_path: Path) -> None:
    """Every `backfill ui` and `doctor` calls it."""
    ensure_home(tmp_path)
    before = (tmp_path / ".env").read_text()
    (tmp_path / ".dagster" / "dagster.yaml").write_text("# mine\n")
    ensure_home(tmp_path)
    assert (tmp_path / ".env").read_text() == before
    assert (tmp_path / ".dagster" / "dagster.yaml").read_text() == "# mine\n"


def test_lines_of_the_user_win(tmp_path: Path) -> None:
    """A home that the user chose is used; what is missing is added below, whatever else is in the file."""
    chosen = tmp_path / "elsewhere"
    (tmp_path / ".env").write_text(f"SECRET=1\nDAGSTER_HOME={chosen}")
    assert ensure_home(tmp_path) == chosen
    text = (tmp_path / ".env").read_text()
    assert text.startswith(f"SECRET=1\nDAGSTER_HOME={chosen}\n")
    assert text.count("DAGSTER_HOME") == 1 and "SPARK_CONF_DIR" in text


def test_home_of_the_environment_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody with a shared instance has DAGSTER_HOME set already."""
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "shared"))
    assert ensure_home(tmp_path) == tmp_path / "shared"


def test_relative_home_is_refused(tmp_path: Path) -> None:
    """Dagster itself would fail much later, in another process."""
    (tmp_path / ".env").write_text("DAGSTER_HOME=.dagster\n")
    with pytest.raises(SettingsError, match="relative"):
        ensure_home(tmp_path)


def test_own_configuration_of_the_project_is_linked(tmp_path: Path) -> None:
    """A project's `dagster.yaml` stays the one place to edit."""
    (tmp_path / "dagster.yaml").write_text("# first\n")
    home = ensure_home(tmp_path)
    (tmp_path / "dagster.yaml").write_text("# edited\n")
    assert (home / "dagster.yaml").read_text() == "# edited\n"


def test_ui_runs_with_that_home_and_project(tmp_path: Path) -> None:
    """The command needs no variable that somebody has to set by hand."""
    home = ensure_home(tmp_path)
    command, env = ui_command(tmp_path, home, host="127.0.0.1", port=3123)
    assert command[1:4] == ["-m", "dagster", "dev"] and "3123" in command
    assert (env["DAGSTER_HOME"], env["BACKFILL_PROJECT"]) == (str(home), str(tmp_path))


def test_ui_loads_what_dagster_dev_would(tmp_path: Path) -> None:
    """A `workspace.yaml` in the folder says what is loaded and what it is called, here as there."""
    home = ensure_home(tmp_path)
    assert _loaded(tmp_path, home) == ["-m", "backfill_assets.definitions"]
    (tmp_path / "workspace.yaml").write_text("load_from: []\n")
    assert _loaded(tmp_path, home) == ["-w", str(tmp_path / "workspace.yaml")]


def _loaded(root: Path, home: Path) -> list[str]:
    command, _ = ui_command(root, home, host="127.0.0.1", port=3123)
    return command[4:6]


def test_no_word_that_the_folders_configuration_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dagster would say so of a home whose `dagster.yaml` is a link to it; of another file it is true, and is said."""
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    home = ensure_home(tmp_path)
    command, _ = ui_command(tmp_path, home, host="127.0.0.1", port=3123)
    assert command[1:4] == ["-m", "backfill_assets.defs.dev", "dev"]
    (home / "dagster.yaml").unlink()
    (home / "dagster.yaml").write_text("# another\n")
    command, _ = ui_command(tmp_path, home, host="127.0.0.1", port=3123)
    assert command[1:4] == ["-m", "dagster", "dev"]

    said: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    def stop(*_: object, **__: object) -> None:
        raise StopIteration

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    monkeypatch.setattr(dev, "setup_interrupt_handlers", stop)  # right behind the word
    logger = logging.getLogger("dagster")
    monkeypatch.setattr(dev, "configure_loggers", lambda **_: logger.addHandler(kept))
    for filters in ([], [is_news]):
        kept, said = Kept(), []
        monkeypatch.setattr(logger, "filters", filters)
        with pytest.raises(StopIteration):
            dev.dev_command_impl("warning", "warning", None, None, None, False, None, False, WorkspaceOpts())
        logger.removeHandler(kept)
        assert any("dagster.yaml" in line for line in said) == (not filters), said


def test_shipped_configuration_names_no_place_of_a_machine() -> None:
    """What is committed works anywhere."""
    lines = [x for f in ("dagster.yaml", "workspace.yaml") for x in (CHECKOUT / f).read_text().splitlines()]
    assert not [x for x in lines if not x.lstrip().startswith("#") and ("/" in x or "~" in x)]
