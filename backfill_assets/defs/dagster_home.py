"""Where does Dagster keep its records for a project? A home that lasts, made once, found through `.env`; and its UI."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from dotenv import dotenv_values

from backfill_assets.adapters.machine import conf_dir
from backfill_assets.core.errors import SettingsError
from backfill_assets.project import dagster_address
from backfill_assets.project.review_address import URL
from backfill_assets.project.settings import EMBEDDED_PROJECT, state_root
from backfill_assets.review.identity import SECRET

DEFINITIONS = "backfill_assets.definitions"
_CONFIG = "dagster.yaml"
_WORKSPACE = "workspace.yaml"
_ENV_NOTE = "# Written by backfill, for every command that is run in this folder. Lines of your own are kept."


def ensure_home(root: Path) -> Path:
    """Make sure that the project has a Dagster home, and that `.env` in its folder names it; returns the home.

    Dagster reads `.env` in the working folder, and it wins over the environment: a DAGSTER_HOME that is there already
    (or else in the environment) is used as it is. Running it again changes nothing.
    """
    folder = state_root(root)
    file = folder / ".env"
    given = {k: v for k, v in dotenv_values(file).items() if v} if file.is_file() else {}
    home = Path(given.get("DAGSTER_HOME") or os.environ.get("DAGSTER_HOME") or folder / ".dagster")
    if not home.is_absolute():
        raise SettingsError(
            f"DAGSTER_HOME is {home}, a relative path",
            why="Dagster's processes run in different folders",
            fix=f"make it absolute in {file}, or remove the line and run this again",
        )
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)  # runs' logs and config hold values
        _configure(home, folder)
        _remember(file, given, _variables(root, home))
    except OSError as error:
        raise SettingsError(
            f"no Dagster home can be made at {home}",
            why=f"{error.filename}: {error.strerror}" if error.filename else str(error),
            fix=f"name a folder that can be written by DAGSTER_HOME, in {file} or in the environment",
        ) from None
    return home


def run_ui(root: Path, *, host: str = "127.0.0.1", port: int = 3000, review_port: int = 3070) -> int:
    """Start Dagster's webserver, daemon and code server for the project, and the reviewer's page beside them (0: not);
    returns their exit code when they end.

    Raises SettingsError when a port is taken.
    """
    home = ensure_home(root)
    _require_free(host, port, "--port 3001")
    if review_port:
        _require_free(host, review_port, "--review-port 3071")
    print(f"backfill: Dagster's UI will be at http://{host}:{port} (Ctrl-C stops it)", file=sys.stderr, flush=True)
    command, environment = ui_command(root, home, host=host, port=port)
    environment |= _review_variables(host, review_port) | _dagster_variables(root, host, port)
    secret = {SECRET: said} if (said := environment.pop(SECRET, "")) else {}  # no code of the project gets to see it
    # A shell's background job inherits "ignore SIGINT", and Dagster's processes could then never be stopped.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    page = _start_page(root, environment | secret, host, review_port) if review_port else None
    process = subprocess.Popen(command, env=environment, cwd=state_root(root))
    previous = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        return process.wait()
    except KeyboardInterrupt:  # the children got it as well: let them end
        return process.wait()
    finally:
        signal.signal(signal.SIGTERM, previous)
        if page is not None:
            page.terminate()
            page.wait()


def page_command(root: Path, *, host: str, port: int) -> list[str]:
    """The command that serves the reviewer's page until its standard input is closed."""
    return [sys.executable, "-m", "backfill_assets.review", host, str(port), str(root)]


def _start_page(root: Path, environment: Mapping[str, str], host: str, port: int) -> subprocess.Popen[bytes]:
    command = page_command(root, host=host, port=port)
    return subprocess.Popen(command, env=environment, cwd=state_root(root), stdin=subprocess.PIPE)


def _review_variables(host: str, port: int) -> dict[str, str]:
    """Where Dagster's links lead, unless the deployment says that itself."""
    if not port or os.environ.get(URL):
        return {}
    return {URL: f"http://{_name(host)}:{port}"}


def _dagster_variables(root: Path, host: str, port: int) -> dict[str, str]:
    """Where the page's links lead, likewise. What locations a `workspace.yaml` has, and their names, Dagster knows."""
    if os.environ.get(dagster_address.URL) or (state_root(root) / _WORKSPACE).is_file():
        return {}
    return {dagster_address.URL: f"http://{_name(host)}:{port}/locations/{DEFINITIONS}"}


def _name(host: str) -> str:
    return "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host


def _require_free(host: str, port: int, other: str) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            fix = f"choose another port: backfill ui {other}"
            raise SettingsError(f"cannot listen on {host}:{port}", why=str(error), fix=fix) from None


def ui_command(root: Path, home: Path, *, host: str, port: int) -> tuple[list[str], dict[str, str]]:
    """The command that starts webserver, daemon and code server, and its environment.

    What is loaded is what `dagster dev` would load in that folder, under the same names: its `workspace.yaml`, which
    may have other projects too, or else this project.
    """
    workspace, own = state_root(root) / _WORKSPACE, state_root(root) / _CONFIG
    used = own.is_file() and (home / _CONFIG).exists() and own.samefile(home / _CONFIG)
    loaded = ["-w", str(workspace)] if workspace.is_file() else ["-m", DEFINITIONS]
    program = "backfill_assets.defs.dev" if used else "dagster"
    command = [sys.executable, "-m", program, "dev", *loaded, "--host", host, "--port", str(port)]
    quiet = ",".join(p for p in (os.environ.get("PYTHONWARNINGS"), "ignore:Function") if p)  # "… is superseded by dg"
    return command, {**os.environ, **_variables(root, home), "PYTHONWARNINGS": quiet}


def _variables(root: Path, home: Path) -> dict[str, str]:
    variables = {"DAGSTER_HOME": str(home), "SPARK_CONF_DIR": str(conf_dir(root).resolve())}
    if root.resolve() != EMBEDDED_PROJECT.resolve():
        variables["BACKFILL_PROJECT"] = str(root.resolve())
    return variables


def _configure(home: Path, folder: Path) -> None:
    """Give the home a `dagster.yaml`: a link to the folder's own, or a copy of the one that ships."""
    config, own = home / _CONFIG, folder / _CONFIG
    if config.exists():
        return
    if own.is_file():
        config.unlink(missing_ok=True)
        config.symlink_to(os.path.relpath(own, home))
        return
    package = Path(__file__).resolve().parent.parent
    shipped = next(p for p in (package / "_dagster.yaml", package.parent / _CONFIG) if p.is_file())
    shutil.copyfile(shipped, config)


def _remember(file: Path, given: Mapping[str, str], variables: Mapping[str, str]) -> None:
    missing = [f"{name}={value}" for name, value in variables.items() if name not in given]
    if not missing:
        return
    before = file.read_text(encoding="utf-8") if file.is_file() else ""
    if before and not before.endswith("\n"):
        before += "\n"
    note = [] if _ENV_NOTE in before else [_ENV_NOTE]
    file.touch(mode=0o600)
    file.write_text(before + "\n".join([*note, *missing]) + "\n", encoding="utf-8")
