"""A Spark Connect server that is away, paused, another Spark, without Delta Lake or elsewhere is told before anything
is built; which kind of session a project has is told by its configuration."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest
from pyspark.errors import AnalysisException

from backfill_assets.adapters import remote_session, server
from backfill_assets.adapters.jvm import ran_out_of_memory
from backfill_assets.adapters.machine import server_of, spark_conf
from backfill_assets.adapters.remote_session import AnswersSoon, RemoteSession
from backfill_assets.adapters.server import session_of_server
from backfill_assets.adapters.session import check_machine, keep_session
from backfill_assets.adapters.session_kind import is_remote
from backfill_assets.adapters.spark_errors import died
from backfill_assets.core.errors import EngineDiedError, SettingsError
from backfill_assets.core.settings import Settings
from backfill_assets.project.spark_settings import SPARKS_OWN, settings_that_count
from backfill_assets_tests.postgres import free_port

URL = "sc://spark.example.com:15002"
NO_PATH = "[PATH_NOT_FOUND] Path does not exist: /no-such-table. SQLSTATE: 42K03"


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the shell that runs the tests."""
    monkeypatch.delenv("SPARK_REMOTE", raising=False)


# --- which kind -------------------------------------------------------------------------------------------------------


def test_a_project_has_a_server_where_its_configuration_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment goes before the settings, these before the configuration's folder; without, a JVM of its own."""
    assert server_of(spark_conf(tmp_path, Settings())) is None
    (tmp_path / "spark-defaults.conf").write_text("spark.remote sc://of-the-folder\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert server_of(spark_conf(tmp_path, Settings())) == "sc://of-the-folder"
    settings = Settings(spark={"spark.remote": "sc://of-the-settings"})
    assert server_of(spark_conf(tmp_path, settings)) == "sc://of-the-settings"
    monkeypatch.setenv("SPARK_REMOTE", "sc://of-the-environment")
    assert server_of(spark_conf(tmp_path, settings)) == "sc://of-the-environment"


def test_which_server_it_is_decides_no_rows() -> None:
    """A project that moves to another one keeps its versions."""
    assert settings_that_count({"spark.remote": URL}) == {}


def test_a_project_with_a_server_needs_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And keeps no session: the server runs anyway."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    settings = Settings(spark={"spark.remote": URL})
    check_machine(tmp_path, settings)
    with pytest.raises(SettingsError, match="a server's, which runs anyway"):
        keep_session(tmp_path, settings, idle=1, ready=lambda: None)


# --- no session -------------------------------------------------------------------------------------------------------


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is named, and how to install it."""
    monkeypatch.setitem(sys.modules, "grpc_status", None)
    with pytest.raises(SettingsError) as caught:
        session_of_server(URL, {}, Settings())
    assert "grpcio-status" in caught.value.why and "backfill-assets[connect]" in caught.value.fix


def test_a_server_that_is_not_there() -> None:
    """It is named without the token, with the network's reason."""
    at = f"sc://127.0.0.1:{free_port()}"
    with pytest.raises(SettingsError) as caught:
        session_of_server(f"{at}/;user_id=x;token=secret", {}, Settings())
    assert caught.value.what == f"no session can be opened on {at}"
    assert "Connection refused" in caught.value.why and "secret" not in str(caught.value)


def test_a_url_that_is_none() -> None:
    """Spark's own words are passed on."""
    with pytest.raises(SettingsError, match="must start with 'sc://'"):
        session_of_server("spark://127.0.0.1:7077", {}, Settings())


def test_a_server_that_is_paused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes connections and never answers is not waited for for ever."""
    monkeypatch.setattr(remote_session, "ANSWERS_WITHIN", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as paused, pytest.raises(SettingsError, match="Deadline Exceeded"):
        session_of_server(f"sc://127.0.0.1:{paused.getsockname()[1]}", {}, Settings())


@pytest.mark.parametrize(("call", "within"), [("Config", 60.0), ("ReleaseSession", 60.0), ("AnalyzePlan", None)])
def test_calls_that_compute_nothing_have_a_deadline(call: str, within: float | None) -> None:
    """A plan that reads the logs of many files may take its time."""

    class Details(SimpleNamespace):
        def _replace(self, **new: object) -> Details:
            return Details(**vars(self) | new)

    details = Details(method=f"/spark.connect.SparkConnectService/{call}", timeout=None)
    assert AnswersSoon().intercept_unary_unary(lambda told, _: told.timeout, details, None) == within


# --- the wrong server -------------------------------------------------------------------------------------------------


class Server:
    """What `session_of_server` asks of a session: a version, settings, a Delta table, a file."""

    def __init__(self, *, version: str = pyspark.__version__, said: str = NO_PATH, read: str | None = None) -> None:
        self.url, self.version, self.warehouses, self.stopped = URL, version, set[str](), 0
        self._said, self._read = said, read
        self.settings = {**SPARKS_OWN, "spark.sql.session.timeZone": "UTC", "spark.sql.variable.substitute": "false"}
        self.settings["spark.sql.legacy.parameterSubstitution.constantsOnly"] = "true"
        self.conf, self.read = SimpleNamespace(get=self.settings.get), SimpleNamespace(text=self._text)

    def answers(self) -> bool:
        return True

    def stop(self) -> None:
        self.stopped += 1

    def sql(self, _: str) -> Any:
        raise AnalysisException(self._said)

    def _text(self, path: str) -> Any:
        self.asked = path
        if self._read is None:
            word = Path(path).read_text()
        elif self._read:
            word = self._read
        else:
            raise AnalysisException(f"[PATH_NOT_FOUND] Path does not exist: file:{path}. SQLSTATE: 42K03")
        return SimpleNamespace(collect=lambda: [(word,)])


@contextmanager
def asked(found: Server, warehouse: Path, conf: dict[str, str] | None = None) -> Generator[pytest.ExceptionInfo[Any]]:
    """The refusal of a session of this server; it is ended."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote_session, "open_session", lambda: None)
        patch.setattr(remote_session, "remote_session", lambda *_: found)
        with pytest.raises(SettingsError) as caught:
            session_of_server(URL, conf or {}, Settings(warehouse=str(warehouse)))
        yield caught
    assert found.stopped == 1 and not found.warehouses and not list(warehouse.glob("*"))


def test_the_server_is_looked_at_once_for_each_warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was written here is read there, and nothing is left of it."""
    found = Server()
    monkeypatch.setattr(remote_session, "open_session", lambda: found)
    for _ in range(2):
        session_of_server(URL, {"spark.master": "local[2]"}, Settings(warehouse=str(tmp_path)))
    assert found.warehouses == {str(tmp_path)} and not list(tmp_path.iterdir())
    with pytest.raises(SettingsError, match="processes \\(code locations\\) of their own"):
        session_of_server("sc://another", {}, Settings(warehouse=str(tmp_path)))
    assert not found.stopped


def test_a_project_that_is_refused_leaves_the_session_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its warehouse is not seen by the server; that of the process's first project is."""
    found = Server(read="")
    found.warehouses.add("/lake")
    monkeypatch.setattr(remote_session, "open_session", lambda: found)
    with pytest.raises(SettingsError, match="does not see the warehouse"):
        session_of_server(URL, {}, Settings(warehouse=str(tmp_path)))
    assert not found.stopped and found.warehouses == {"/lake"}


def test_who_may_only_read_has_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe cannot be written then."""
    (tmp_path / "_probe").touch()
    found = Server(read="")
    monkeypatch.setattr(remote_session, "open_session", lambda: found)
    session: object = session_of_server(URL, {}, Settings(warehouse=str(tmp_path)))
    assert session is found


def test_another_version(tmp_path: Path) -> None:
    """Both are named."""
    with asked(Server(version="3.5.1"), tmp_path) as caught:
        assert "Spark 3.5.1" in caught.value.why and f"Spark {pyspark.__version__}" in caught.value.fix


def test_other_settings(tmp_path: Path) -> None:
    """One that decides rows; how a query is carried out is the server's own."""
    conf = {"spark.sql.legacy.sizeOfNull": "true", "spark.sql.shuffle.partitions": "8"}
    with asked(Server(), tmp_path, conf) as caught:
        assert caught.value.why == "`spark.sql.legacy.sizeOfNull` is not set there, and true here"


def test_a_server_that_has_what_nobody_here_names(tmp_path: Path) -> None:
    """Its own configuration decides rows: no version says so."""
    found = Server()
    found.settings["spark.sql.caseSensitive"] = "true"
    with asked(found, tmp_path) as caught:
        assert caught.value.why == "`spark.sql.caseSensitive` is true there, and false here"


@pytest.mark.parametrize(
    "said",
    [
        "[UNSUPPORTED_FEATURE.TABLE_OPERATION] Table `delta`.`/no-such-table` does not support batch scan.",
        "[DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG] This Delta operation requires the SparkSession …",
    ],
)
def test_no_delta(tmp_path: Path, said: str) -> None:
    """Neither without its jars nor without its extension."""
    with asked(Server(said=said), tmp_path) as caught:
        assert caught.value.what.endswith("has no Delta Lake") and caught.value.why == said


@pytest.mark.parametrize(("read", "why"), [("", "Path does not exist"), ("other", "reads something else")])
def test_another_storage(tmp_path: Path, read: str, why: str) -> None:
    """The server has no such file at this path, or another one."""
    with asked(Server(read=read), tmp_path) as caught:
        assert re.search(rf"does not see the warehouse {tmp_path}", caught.value.what) and why in caught.value.why
        assert "at the same path" in caught.value.fix


def test_a_session_whose_server_was_started_again_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that lives for days goes on with the new one, which is looked at like the first."""
    old, new = Server(), Server()
    old.warehouses.add(str(tmp_path))
    old.answers = lambda: False  # type: ignore[method-assign]
    monkeypatch.setattr(remote_session, "open_session", lambda: old)
    monkeypatch.setattr(remote_session, "remote_session", lambda *_: new)
    session: object = session_of_server(URL, {}, Settings(warehouse=str(tmp_path)))
    assert session is new and old.stopped == 1 and new.warehouses == {str(tmp_path)}


# --- a server that was there ------------------------------------------------------------------------------------------


class Gone(RemoteSession):
    """A session whose server is gone."""

    def __init__(self) -> None:
        pass

    def answers(self) -> bool:
        return False


def test_a_lost_connection_is_no_error_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was under way may be tried again, and no memory of a JVM of ours is looked at."""
    gone: object = Gone()
    assert is_remote(gone) and not ran_out_of_memory(gone)
    of_the_engine = died("build daily 2024-01-01", gone)
    monkeypatch.setattr(remote_session, "opened", lambda: gone)
    for said in (of_the_engine, died("build daily 2024-01-01")):
        assert isinstance(said, EngineDiedError) and said.retryable
        assert said.what == "cannot build daily 2024-01-01: the connection to Spark's server was lost"
        assert "the same command again" in said.fix


def test_names_of_servers() -> None:
    """No parameter of a URL is shown."""
    assert server.without_secrets("sc://[::1]:1/;token=a/b") == "sc://[::1]:1"


@pytest.mark.parametrize(
    ("said", "mends"),
    [
        ("Invalid authentication token", "give its token"),
        ("SSL_ERROR_SSL: OPENSSL_internal:CERTIFICATE_VERIFY_FAILED: self signed", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"),
        ("SSL_ERROR_SSL: OPENSSL_internal:WRONG_VERSION_NUMBER", "leave `use_ssl` out"),
        ("Connection refused", "see that the Spark Connect server runs there"),
    ],
)
def test_what_lets_a_client_in(said: str, mends: str) -> None:
    """As gRPC told of a server with a token, and of a proxy with TLS."""
    assert mends in server.way_in(said)
