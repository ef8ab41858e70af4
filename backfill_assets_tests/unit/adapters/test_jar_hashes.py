"""Are Delta's jars the ones of the pinned `delta-spark`, and is another content noticed before a JVM loads it?"""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

import pyspark
import pytest
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

from backfill_assets.adapters import jar_hashes, machine
from backfill_assets.core.errors import SettingsError

SHIPPED = Path(__file__).parents[3] / "spark-conf"


def test_the_package_is_the_one_that_delta_spark_names() -> None:
    """`spark-conf/` names what `configure_spark_with_delta_pip` would name: an upgrade of the pin moves both."""
    named = configure_spark_with_delta_pip(SparkSession.Builder())._options["spark.jars.packages"]  # type: ignore[attr-defined]
    assert machine.read_conf(SHIPPED)["spark.jars.packages"] == named
    assert version("delta-spark") in named
    wanted = {f"{group}_{artifact}-{number}.jar" for group, artifact, number in [named.split(":")]}
    assert wanted <= set(jar_hashes.PUBLISHED)


def test_the_jars_that_reach_s3_are_known_and_of_pysparks_hadoop() -> None:
    """`spark-conf/s3/` names Delta as the other one does, and Hadoop's client of the version that pyspark brings."""
    conf, other = machine.read_conf(SHIPPED / "s3"), machine.read_conf(SHIPPED)
    named = conf["spark.jars.packages"].split(",")
    assert other["spark.jars.packages"] in named
    parts = [package.split(":") for package in named]
    assert {f"{group}_{artifact}-{number}.jar" for group, artifact, number in parts} <= set(jar_hashes.PUBLISHED)
    [hadoop] = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    assert f"org.apache.hadoop:hadoop-aws:{hadoop.stem.removeprefix('hadoop-client-api-')}" in named
    own = {"spark.jars.packages", "spark.jars.excludes"}
    assert {k: v for k, v in conf.items() if k not in own and not k.startswith("spark.hadoop.fs.")} == {
        k: v for k, v in other.items() if k not in own
    }


def test_another_content_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A jar that was put there by hand passes when it is the published one, and is refused otherwise."""
    package = "io.delta:delta-spark_4.2_2.13:4.4.0"
    (tmp_path / "conf").mkdir()
    settings = f"spark.jars.packages {package}\nspark.jars.ivy {tmp_path}\n"
    (tmp_path / "conf" / machine.DEFAULTS_FILE).write_text(settings)
    (tmp_path / "jars").mkdir()
    names = sorted(name for name in jar_hashes.PUBLISHED if name.startswith(("io.delta", "io.unitycatalog")))
    jars = [tmp_path / "jars" / name for name in names]
    for jar in jars:
        jar.write_bytes(b"published")
        monkeypatch.setitem(jar_hashes.PUBLISHED, jar.name, hashlib.sha256(b"published").hexdigest())  # type: ignore[arg-type]
    assert machine.delta_jars(tmp_path / "conf") == jars
    jars[-1].write_bytes(b"another one")
    with pytest.raises(SettingsError, match="not the jar that was published"):
        machine.delta_jars(tmp_path / "conf")


@pytest.mark.parametrize("folder", ["", "s3"])
def test_a_cache_that_lacks_a_jar_is_fetched_again(folder: str, tmp_path: Path) -> None:
    """Also one that no package names, but that one of them needs: else Spark would miss a class in the middle."""
    packages = machine.read_conf(SHIPPED / folder)["spark.jars.packages"]
    names = [n for n in jar_hashes.PUBLISHED if folder or n.startswith(("io.delta", "io.unitycatalog"))]
    for name in (*names, "of_others-1.jar"):
        (tmp_path / name).touch()
    assert [jar.name for jar in machine._cached(packages, tmp_path)] == sorted(names)
    for name in names:
        (tmp_path / name).unlink()
        assert machine._cached(packages, tmp_path) == [], name
        (tmp_path / name).touch()


def test_jars_of_another_version_are_not_known(tmp_path: Path) -> None:
    """What a project names itself is there when the named ones are."""
    name = "io.delta_delta-spark_4.2_2.13-4.9.9.jar"
    (tmp_path / name).touch()
    assert [jar.name for jar in machine._cached("io.delta:delta-spark_4.2_2.13:4.9.9", tmp_path)] == [name]
