"""How are the jars of the package made? `python -m backfill_assets_tests.own_jars` compiles what lies beside them.

What javac 17 makes of the same sources is the same, and so is the jar: a test compares it, and users check its SHA-256.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

import pyspark

from backfill_assets.adapters.commit_log import LOG_STORE_JAR
from backfill_assets.adapters.local_disk import LOCAL_FILES_JAR
from backfill_assets.adapters.machine import delta_jars
from backfill_assets.adapters.own_jar import OwnJar

JARS = (LOG_STORE_JAR, LOCAL_FILES_JAR)
CONF = Path(__file__).resolve().parent.parent / "spark-conf" / "s3"


def has_compiler() -> bool:
    """Whether there is a javac of the release that the jars are made by."""
    javac = shutil.which("javac")
    said = subprocess.run([javac, "-version"], capture_output=True, text=True, check=False).stdout if javac else ""
    return said.startswith("javac 17.")


def make(jar: OwnJar, to: Path) -> None:
    """Compile its sources into a jar, whose files have no date."""
    hadoop = next(Path(pyspark.__file__).parent.joinpath("jars").glob("hadoop-client-api-*.jar"))
    known = [*(j for j in delta_jars(CONF) if "delta-storage" in j.name), hadoop]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--release", "17", "-Xlint:all", "-Werror", "-g:none", "-proc:none", "-d", folder]
        subprocess.run(["javac", *options, "-cp", ":".join(map(str, known)), *map(str, jar.sources)], check=True)
        with zipfile.ZipFile(to, "w", zipfile.ZIP_STORED) as packed:
            for file in sorted(Path(folder).rglob("*.class")):
                packed.writestr(zipfile.ZipInfo(file.relative_to(folder).as_posix()), file.read_bytes())


if __name__ == "__main__":
    for one in JARS:
        make(one, one.path)
        print(one.path.name, hashlib.sha256(one.path.read_bytes()).hexdigest())
