"""Can a Spark Connect server compute what a project means? Asked as a session is opened, before anything is built."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.probe import PROBES, remove
from backfill_assets.core.errors import SettingsError
from backfill_assets.core.settings import Settings
from backfill_assets.project.spark_settings import SESSION, SPARKS_OWN, settings_that_count

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from backfill_assets.adapters.remote_session import RemoteSession

OF_SESSIONS = ("spark.sql.", "spark.databricks.")
"""Beginnings of the settings that a client may make."""
_LISTS = frozenset({"spark.sql.extensions"})
"""Settings of which a server may have more."""
_NO_SUCH_TABLE = ("[PATH_NOT_FOUND]", "[DELTA_TABLE_NOT_FOUND]", "[DELTA_PATH_DOES_NOT_EXIST]")
"""What Delta Lake says of a table that is not there."""
START = "start it with the project's Spark configuration (SPARK_CONF_DIR): see `backfill docs connect`"


def session_of_server(url: str, conf: Mapping[str, str], settings: Settings) -> SparkSession:
    """The process's session on the server. `conf`: the project's Spark configuration, of which it gets what a client
    may set; the rest is the server's.

    Raises SettingsError when the client is not installed, the server cannot be reached, is another Spark, has no Delta
    Lake or does not see the warehouse, and when a setting that decides rows is another one there.
    """
    at = without_secrets(url)
    try:
        from pyspark.sql.connect.utils import check_dependencies

        check_dependencies()
    except ImportError as error:
        raise SettingsError(
            f"no session can be opened on {at}",
            why=f"Spark's client for servers lacks something: {_said(error)}",
            fix="install the extra: pip install 'backfill-assets[connect]'",
        ) from None
    from pyspark.errors import PySparkException

    from backfill_assets.adapters.remote_session import open_session, remote_session

    wanted = {name: value for name, value in {**conf, **SESSION}.items() if name.startswith(OF_SESSIONS)}
    session = open_session()
    if session is not None and not session.answers():  # the server was started again, or ended it
        session.stop()
        session = None
    if opened := session is None:
        try:
            session = remote_session(url, wanted)
        except PySparkException as error:
            why = _said(error)
            raise SettingsError(f"no session can be opened on {at}", why=why, fix=way_in(why)) from None
    elif session.url != url:
        raise SettingsError(
            f"no session can be opened on {at}",
            why=f"this process has one of {without_secrets(session.url)}, and may have one",
            fix="let projects of other servers be in processes (code locations) of their own",
        )
    if settings.warehouse not in session.warehouses:
        try:
            _check(session, at, wanted, settings.warehouse)
        except BaseException:
            if opened:
                session.stop()
            raise
        session.warehouses.add(settings.warehouse)
    return cast(Any, session)


def way_in(why: str) -> str:
    """What lets a client in that a server, or a proxy before it, did not.

    >>> way_in("No authentication token provided")
    "give its token, and not in a file: SPARK_REMOTE='sc://HOST:443/;use_ssl=true;token=…'"
    """
    return next(
        (fix for mark, fix in _WAYS_IN.items() if mark in why),
        "see that the Spark Connect server runs there, and that SPARK_REMOTE (or `spark.remote`) names it: "
        "sc://HOST:15002",
    )


_WAYS_IN = {
    "authentication token": "give its token, and not in a file: SPARK_REMOTE='sc://HOST:443/;use_ssl=true;token=…'",
    "CERTIFICATE_VERIFY_FAILED": "let GRPC_DEFAULT_SSL_ROOTS_FILE_PATH name the file of the certificate that its own "
    "is signed by",
    "WRONG_VERSION_NUMBER": "it has no TLS there: leave `use_ssl` out, and a `token`, which asks for TLS too",
}
"""What gRPC says, and what mends it."""


def server_found(session: RemoteSession) -> str:
    """Who the server of a session is, for `backfill doctor`."""
    from pyspark import __version__ as client

    return f"Spark {session.version} with Delta Lake at {without_secrets(session.url)}, its client {client}"


def without_secrets(url: str) -> str:
    """The server of a URL, without its parameters: a token may be one of them.

    >>> without_secrets("sc://spark.example.com:15002/;token=abc;use_ssl=true")
    'sc://spark.example.com:15002'
    """
    return re.split(r"[/;?]", url.removeprefix("sc://"), maxsplit=1)[0].join(("sc://", ""))


def other_version(server: str, client: str) -> str:
    """Why a client cannot talk to a server; empty when it can. Between releases of one minor version nothing changes
    that decides rows.

    >>> other_version("4.2.1", "4.2.0"), other_version("4.1.0", "4.2.0")
    ('', 'the server is Spark 4.1.0, the client 4.2.0')
    """
    if server.split(".")[:2] == client.split(".")[:2]:
        return ""
    return f"the server is Spark {server}, the client {client}"


def other_settings(wanted: Mapping[str, str], there: Mapping[str, str | None]) -> str:
    """What of the settings that decide rows the server has otherwise; empty when nothing.

    >>> other_settings({"spark.sql.ansi.enabled": "true"}, {"spark.sql.ansi.enabled": "false"})
    '`spark.sql.ansi.enabled` is false there, and true here'
    >>> other_settings({"spark.sql.extensions": "a.B"}, {"spark.sql.extensions": "c.D,a.B"})
    ''
    """
    return "; ".join(
        f"`{name}` is {'not set' if there.get(name) is None else there[name]} there, and {value} here"
        for name, value in sorted(settings_that_count(wanted).items())
        if not _same(name, value, there.get(name))
    )


def _same(name: str, wanted: str, there: str | None) -> bool:
    if there is None:
        return False
    if name in _LISTS:
        return set(wanted.split(",")) <= set(there.split(","))
    return wanted.lower() == there.lower()


def _check(session: RemoteSession, at: str, wanted: Mapping[str, str], warehouse: str) -> None:
    from pyspark import __version__ as client
    from pyspark.errors import PySparkException

    try:
        if wrong := other_version(session.version, client):
            raise SettingsError(
                f"the Spark server {at} is not the client's version", why=wrong, fix=f"let it be Spark {client}"
            )
        needed = {**SPARKS_OWN, **settings_that_count(wanted)}
        there = {n: session.conf.get(n) if n in SPARKS_OWN else session.conf.get(n, None) for n in needed}
        if wrong := other_settings(needed, there):
            raise SettingsError(f"the Spark server {at} would give other rows", why=wrong, fix=START)
        if without := _lacks_delta(session):
            raise SettingsError(f"the Spark server {at} has no Delta Lake", why=without, fix=START)
        _check_storage(session, at, warehouse)
    except PySparkException as error:
        raise SettingsError(f"the Spark server {at} does not answer as one", why=_said(error), fix=START) from None


def _lacks_delta(session: RemoteSession) -> str:
    """What a server says of Delta Lake that has none; empty where it has."""
    from pyspark.errors import PySparkException

    try:
        session.sql("SELECT 1 FROM delta.`/no-such-table`").collect()
    except PySparkException as error:
        said = _said(error)
        return "" if said.startswith(_NO_SUCH_TABLE) else said
    return ""


def _check_storage(session: RemoteSession, at: str, warehouse: str) -> None:
    """Raise SettingsError unless the server reads what this process writes into the warehouse."""
    from pyspark.errors import PySparkException

    place, word = f"{warehouse}/{PROBES}/{uuid.uuid4().hex}", uuid.uuid4().hex
    try:
        ArrowFolder(place).write("probe", word.encode())
    except (OSError, SettingsError):  # who may only read has no place for it
        return
    try:
        found = [row[0] for row in session.read.text(f"{place}/probe").collect()]
        why = "" if found == [word] else "it reads something else where this process wrote a file"
    except PySparkException as error:
        why = _said(error)
    finally:
        remove(place)
    if why:
        raise SettingsError(
            f"the Spark server {at} does not see the warehouse {warehouse}",
            why=why,
            fix="server and client must see it at the same path: share the folder, or let it be in an object store",
        )


def _said(error: BaseException) -> str:
    """The telling line of an error: gRPC's own are pages."""
    text = str(error)
    if details := re.search(r'details = "([^"]*)"', text):
        return details[1][:600]
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)[:600]
