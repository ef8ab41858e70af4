"""How is the jar of the log store made? `python -m backfill_assets_tests.log_store_jar` compiles its one source.

What javac 17 makes of the same source is the same, and so is the jar: a test compares it, and users check its SHA-256.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pyspark

from backfill_assets.adapters.commit_log import LOG_STORE_JAR
from backfill_assets.adapters.machine import delta_jars

SOURCE = LOG_STORE_JAR.parent / "backfill_assets" / "ConditionalLogStore.java"
CONF = Path(__file__).resolve().parent.parent / "spark-conf" / "s3"


def has_compiler() -> bool:
    """Whether there is a javac of the release that the jar is made by."""
    javac = shutil.which("javac")
    said = subprocess.run([javac, "-version"], capture_output=True, text=True, check=False).stdout if javac else ""
    return said.startswith("javac 17.")


def make(jar: Path) -> None:
    """Compile the source into a jar, whose files have no date."""
    hadoop = next(Path(pyspark.__file__).parent.joinpath("jars").glob("hadoop-client-api-*.jar"))
    known = [*(j for j in delta_jars(CONF) if "delta-storage" in j.name), hadoop]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--release", "17", "-Xlint:all", "-Werror", "-g:none", "-proc:none", "-d", folder]
        subprocess.run(["javac", *options, "-cp", ":".join(map(str, known)), str(SOURCE)], check=True)
        with zipfile.ZipFile(jar, "w", zipfile.ZIP_STORED) as packed:
            for file in sorted(Path(folder).rglob("*.class")):
                packed.writestr(zipfile.ZipInfo(file.relative_to(folder).as_posix()), file.read_bytes())


if __name__ == "__main__":
    make(Path(sys.argv[1]) if sys.argv[1:] else LOG_STORE_JAR)
