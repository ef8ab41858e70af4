"""How is a consumer's `command:` run? In the project's folder, with no variables but those that are named here."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from backfill_assets.contracts.rerun import SAMPLE, Answer

ENVIRONMENT_VARIABLE = "BACKFILL_ENVIRONMENT"
"""Says to an evaluation's command which environment it is about."""
PASSED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE", "VIRTUAL_ENV",
    "PYTHONPATH", "PYSPARK_PYTHON", "SPARK_REMOTE", "JAVA_HOME", "SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_HOME",
    "HADOOP_CONF_DIR", "SSL_CERT_FILE", "BACKFILL_WAREHOUSE", "BACKFILL_CACHE",
)  # fmt: skip
"""The variables that a command gets as they are. Others may be secrets: its entry names those that it needs."""
TIMEOUT = 3600


def run_command(command: str, environment: str, root: Path, also: Sequence[str] = ()) -> Answer:
    """What a command ends with: its last lines, and an error when it fails. `also` names further variables for it."""
    try:
        done = subprocess.run(
            shlex.split(command), cwd=root, env=command_environment(os.environ, environment, root, also),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return Answer(error=str(error))
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()[-SAMPLE:]
    sample = tuple((line,) for line in lines)
    if done.returncode:
        return Answer(sample=sample, error=f"it ended with {done.returncode}: {lines[-1] if lines else 'no words'}")
    return Answer(sample=sample)


def command_environment(
    there: Mapping[str, str], environment: str, root: Path, also: Sequence[str] = ()
) -> dict[str, str]:
    """The variables of a command.

    >>> sorted(command_environment({"PATH": "/bin", "SECRET": "x", "TOKEN": "y"}, "e", Path("/p"), ["TOKEN"]))
    ['BACKFILL_ENVIRONMENT', 'BACKFILL_PROJECT', 'PATH', 'TOKEN']
    """
    kept = {name: there[name] for name in (*PASSED, *also) if name in there}
    return kept | {ENVIRONMENT_VARIABLE: environment, "BACKFILL_PROJECT": str(root)}
