"""Can this machine run Spark with Delta? Java, disk room, the configuration folder and the jars."""

from __future__ import annotations

import fcntl
import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from backfill_assets.adapters.jar_hashes import PUBLISHED, check_jars
from backfill_assets.core.errors import SettingsError
from backfill_assets.core.settings import Settings
from backfill_assets.core.wording import listed
from backfill_assets.files.no_access import READ_ONLY, WRITABLE, is_read_only
from backfill_assets.plan.batch_size import Machine
from backfill_assets.project.object_store import is_s3
from backfill_assets.project.source_places import source_places
from backfill_assets.project.spark_settings import of_no_version

OLDEST_JAVA = 17
LEAST_FREE_BYTES = 500 * 1024 * 1024
DEFAULTS_FILE = "spark-defaults.conf"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_SHORT_BUILDS = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
"""What suits builds that are over before the optimizing compiler has paid for itself."""
_PACKAGE = Path(__file__).resolve().parent.parent
_SHIPPED = (_PACKAGE.parent / "spark-conf", _PACKAGE / "_spark_conf")


def conf_dir(root: Path, *, s3: bool = False) -> Path:
    """The Spark configuration folder: SPARK_CONF_DIR, else the project's `spark-conf/`, else the one that ships.

    `s3`: that of `s3/` in it, with what reaches buckets; a project whose `spark-conf/` has none has its own way there.
    """
    if chosen := os.environ.get("SPARK_CONF_DIR"):
        return _with_s3(Path(chosen), s3)
    for folder in (root / "spark-conf", *_SHIPPED):
        if (folder / DEFAULTS_FILE).is_file():
            return _with_s3(folder, s3)
    raise SettingsError(
        "no spark-conf/ folder",
        why=f"none in {root}, and none came with the package",
        fix="copy spark-conf/ from the project's repository, or set SPARK_CONF_DIR",
    )


def session_conf(root: Path, settings: Settings, sources: Sequence[str] | None = None) -> Path:
    """The Spark configuration folder of a project's sessions: that with `s3/` where its warehouse or a source is in a
    bucket, unless its own `spark:` has a way there, which that folder would get between. `sources`: where they are, as
    far as somebody has read that."""
    packages = map(str.strip, settings.spark.get("spark.jars.packages", "").split(","))
    own = any(name.startswith("spark.hadoop.fs.s3") for name in settings.spark)
    own = own or any(package and not _OF_FORMATS.match(package) for package in packages)
    places = (settings.warehouse, *(source_places(root) if sources is None else sources))
    return conf_dir(root, s3=not own and any(map(is_s3, places)))


_OF_FORMATS = re.compile(r"org\.apache\.spark:spark-(avro|protobuf)_")
"""Packages that read formats, and know no bucket."""


def _with_s3(folder: Path, s3: bool) -> Path:
    return folder / "s3" if s3 and (folder / "s3" / DEFAULTS_FILE).is_file() else folder


def all_compilers(folder: Path, settings: Settings) -> str:
    """The JVM's options of a configuration without those that keep its optimizing compiler out; "" where that is not
    ours to say: the project or the account has a configuration of its own, or names options in `spark:`."""
    conf = read_conf(folder)
    if not {folder, folder.parent} & {*_SHIPPED} or JAVA_OPTIONS in settings.spark or JAVA_OPTIONS not in conf:
        return ""
    return " ".join(option for option in conf[JAVA_OPTIONS].split() if option not in _SHORT_BUILDS)


_SETTING = re.compile(r"[\s=]+")
"""What is between a key and its value."""


def read_conf(folder: Path) -> dict[str, str]:
    """The settings of `spark-defaults.conf`: a key and a value a line, `#` starts a comment line."""
    file = folder / DEFAULTS_FILE
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    pairs = (
        _SETTING.split(line.strip(), maxsplit=1) for line in lines if line.strip() and not line.lstrip().startswith("#")
    )
    return {pair[0]: pair[1].strip() if len(pair) > 1 else "" for pair in pairs}


def spark_conf(root: Path, settings: Settings) -> dict[str, str]:
    """What the configuration's folder and the project's settings say of its sessions. Raises SettingsError."""
    return read_conf(session_conf(root, settings)) | settings.spark


def check_versioned(folder: Path, settings: Settings) -> None:
    """Raise SettingsError where the configuration's folder decides rows, by a setting that the project does not have:
    one version would be computed in two ways, and no plan would tell."""
    if not (names := of_no_version(read_conf(folder), settings.spark)):
        return
    lines = (folder / DEFAULTS_FILE).read_text(encoding="utf-8").splitlines()
    at = next((n for n, line in enumerate(lines, start=1) if _SETTING.split(line.strip())[0] == names[0]), 1)
    raise SettingsError(
        f"{folder / DEFAULTS_FILE}:{at} sets {listed(names)}: that can change results, and is in no model's version",
        why="days of one version would be computed in two ways, and no plan would tell",
        fix="remove the line; or write it below `spark:` in backfill.yml, which makes new versions of all models",
    )


def server_of(conf: Mapping[str, str]) -> str | None:
    """The URL of the Spark Connect server that sessions of a configuration are of; None where they have a JVM of their
    own."""
    return os.environ.get("SPARK_REMOTE") or conf.get("spark.remote") or None


def cluster_of(conf: Mapping[str, str]) -> str | None:
    """The master of the cluster that sessions of a configuration are of; None where all is on this machine."""
    master = conf.get("spark.master", "local[*]")
    return None if master.startswith("local") else master


def spark_machine(root: Path, settings: Settings) -> Machine:
    """The cores and the memory that Spark's configuration gives to sessions of the project: this machine's, or those
    of its executors. What a remote server has, or a cluster that grows, is not known: UNKNOWN_MACHINE stands for it."""
    try:
        conf = spark_conf(root, settings)
    except SettingsError:  # whoever opens a session says it
        conf = dict(settings.spark)
    master = conf.get("spark.master", "local[*]")
    if server_of(conf) is not None:
        return UNKNOWN_MACHINE
    if local := re.fullmatch(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?", master):
        said = local[1] or "1"
        cores = len(os.sched_getaffinity(0)) if said == "*" else int(said)
        return Machine(cores=max(cores, 1), memory=_bytes(conf.get("spark.driver.memory", "1g")))
    executors = conf.get("spark.executor.instances") or conf.get("spark.dynamicAllocation.maxExecutors")
    cores = conf.get("spark.cores.max") if not executors else conf.get("spark.executor.cores", "1")
    if not (executors or "1").isdecimal() or not (cores or "").isdecimal():
        return UNKNOWN_MACHINE
    count = int(executors or 1)
    each = _bytes(conf.get("spark.executor.memory", "1g"))
    return Machine(cores=max(count * int(cores or 1), 1), memory=max(count, 1) * each)


UNKNOWN_MACHINE = Machine(cores=4, memory=8 << 30)


def _bytes(said: str) -> int:
    """What Spark reads a size of memory as; 1 GiB for what is none."""
    found = re.fullmatch(r"(\d+)\s*([kmgt]?)i?b?", said.strip().lower())
    return int(found[1]) << {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[found[2]] if found else 1 << 30


def check_java() -> int:
    """Java's major version. Raises SettingsError when there is none, or one older than OLDEST_JAVA."""
    return _java()[0]


def java_build() -> str:
    """Which Java this is, to the build, and where it is. Raises as `check_java`."""
    return _java()[1]


def _java() -> tuple[int, str]:
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else "java"
    fix = (
        f"install a JDK or JRE of version {OLDEST_JAVA} or newer (Debian: apt-get install openjdk-17-jre-headless) "
        + ("and correct JAVA_HOME" if home else "and put it on the PATH or in JAVA_HOME")
    )
    try:
        said = _version_text(shutil.which(command) or command)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SettingsError("Java was not found", why=f"{command} -version: {error}", fix=fix) from None
    found = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    major = int(found[1]) if found else 0
    if found and major == 1:
        major = int(found[2])
    if major < OLDEST_JAVA:
        first = said.splitlines()[0] if said else "no version"
        raise SettingsError(
            f"Java is too old: Spark needs {OLDEST_JAVA} or newer", why=f"{command} is {first}", fix=fix
        )
    return major, f"{shutil.which(command)}\n{said}"


@functools.cache
def _version_text(command: str) -> str:
    """What Java says that it is: asked once a process."""
    return subprocess.run([command, "-version"], capture_output=True, text=True, check=True).stderr


def check_room(location: str, *, to_write: bool = True) -> int:
    """Free bytes where the warehouse is (0 for an object store). Raises SettingsError when there is hardly any room;
    `to_write`: also where it cannot be written."""
    if "://" in location:
        return 0
    folder = Path(location)
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < LEAST_FREE_BYTES:
        raise SettingsError(
            f"no room on disk for the warehouse {location}",
            why=f"{free // 2**20} MiB are free, {LEAST_FREE_BYTES // 2**20} are the least to start with",
            fix="free some room, or set `warehouse:` in backfill.yml (or BACKFILL_WAREHOUSE) to another disk",
        )
    if to_write and not os.access(folder, os.W_OK):
        stuck = is_read_only(folder)
        raise SettingsError(
            f"the warehouse {location} cannot be written",
            why=f"{folder} {READ_ONLY}" if stuck else f"no permission on {folder}",
            fix=WRITABLE if stuck else "change its owner or move it",
        )
    return free


def ships(folder: Path) -> bool:
    """Whether a configuration names packages, and none but those that ship: what they need is known."""
    packages = read_conf(folder).get("spark.jars.packages", "")
    return bool(packages) and PUBLISHED.keys() >= set(_names(packages))


def delta_jars(folder: Path) -> list[Path]:
    """The jars that `spark.jars.packages` names, fetched once into Ivy's cache (then this only looks there).

    Resolving them at every start would cost seconds. Raises SettingsError when they cannot be fetched, and for one that
    is not what was published.
    """
    found = _fetched(folder)
    check_jars(found)
    return found


def _fetched(folder: Path) -> list[Path]:
    conf = read_conf(folder)
    packages = conf.get("spark.jars.packages", "")
    if not packages:
        return []
    ivy = Path(conf.get("spark.jars.ivy") or Path.home() / ".ivy2.5.2")
    if (found := _cached(packages, ivy / "jars")) and not os.access(ivy, os.W_OK):
        return found  # nobody is fetching them here
    ivy.mkdir(parents=True, exist_ok=True)
    with (ivy / ".backfill.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # who comes second finds all of them, not those that are there already
        if found := _cached(packages, ivy / "jars"):
            return found
        print("backfill: fetching Delta's jars (only this once) …", file=sys.stderr, flush=True)
        said = _resolve(folder, ivy)
        found = _cached(packages, ivy / "jars")
    if not found:
        lines = [line.strip() for line in said.splitlines() if "not found" in line or "unresolved" in line.lower()]
        raise SettingsError(
            f"Delta's jars could not be fetched: {packages}",
            why="; ".join(lines[:3]) or said.strip()[-400:] or "Spark gave no reason",
            fix="check that Maven Central (or the mirror in spark.jars.ivySettings) is reachable, "
            f"or put the jars in {ivy / 'jars'} by hand",
        )
    return found


def _cached(packages: str, folder: Path) -> list[Path]:
    jars = {p.name: p for p in folder.glob("*.jar")} if folder.is_dir() else {}
    names = _names(packages)
    prefixes = {name.split("_")[0] for name in names} | {"io.unitycatalog"}
    versions = {p.split(":")[2] for p in packages.split(",")}

    def belongs(name: str) -> bool:
        of_version = any(v in name for v in versions) or name.startswith("io.unitycatalog")
        return name in names or (name.split("_")[0] in prefixes and of_version)

    # Of the packages that ship, what they need is known: a cache that lacks some of it is fetched again.
    needed = filter(belongs, PUBLISHED) if PUBLISHED.keys() >= set(names) else ()
    if not all(name in jars for name in (*names, *needed)):
        return []
    return [path for name, path in sorted(jars.items()) if belongs(name)]


def _names(packages: str) -> list[str]:
    parts = (package.split(":")[:3] for package in packages.split(","))
    return [f"{group}_{artifact}-{version}.jar" for group, artifact, version in parts]


def _resolve(folder: Path, ivy: Path) -> str:
    """Let Spark's own resolver fetch the packages to that place (Java's idea of a home is not HOME); what it said."""
    import pyspark

    home = Path(pyspark.__file__).parent
    nothing = Path(__file__).with_name("_nothing.py")
    done = subprocess.run(
        [str(home / "bin" / "spark-submit"), "--master", "local[1]", "--conf", f"spark.jars.ivy={ivy}", str(nothing)],
        env={**os.environ, "SPARK_CONF_DIR": str(folder), "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr
