"""Is a cluster's configuration whole, and is one that cannot work refused before a JVM is started?"""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.adapters import cluster, machine
from backfill_assets.core.errors import SettingsError
from backfill_assets.core.settings import Settings

SHIPPED = Path(__file__).parents[3] / "spark-conf"
CLUSTERS = ("standalone", "yarn", "emr", "kubernetes")
OF_ONE_MACHINE = {"spark.master", "spark.driver.host", "spark.driver.bindAddress", "spark.driver.extraJavaOptions"}
JARS = {"spark.jars.packages", "spark.jars.excludes"}


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_folder_of_each_cluster_is_whole(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What decides rows and files is as on one machine, the way to buckets as in `s3/`, its jars are all known, and it
    is one that sessions read."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(SHIPPED / name))
    assert machine.session_conf(tmp_path, Settings()) == SHIPPED / name and machine.ships(SHIPPED / name)
    conf, base, s3 = (machine.read_conf(SHIPPED / folder) for folder in (name, "", "s3"))
    assert {k: conf.get(k) for k in base if k not in OF_ONE_MACHINE | JARS} == {
        k: v for k, v in base.items() if k not in OF_ONE_MACHINE | JARS
    }
    ways = {k: v for k, v in s3.items() if k.startswith("spark.hadoop.fs.")}
    has_way = name in ("emr", "kubernetes")
    assert {k: v for k, v in conf.items() if k.startswith("spark.hadoop.fs.")} == (ways if has_way else {})
    assert all(conf[key] == (s3 if has_way else base)[key] for key in JARS)
    assert machine.cluster_of(conf) and machine.server_of(conf) is None
    logs = [SHIPPED / folder / "log4j2.properties" for folder in (name, "")]
    assert logs[0].read_text() == logs[1].read_text()


def test_each_folder_is_tested() -> None:
    """A new one is looked at here, or in `test_jar_hashes.py`."""
    assert {file.parent.name for file in SHIPPED.glob("*/spark-defaults.conf")} == {*CLUSTERS, "s3", "metastore"}


def test_drivers_of_clusters_compile_with_all_compilers() -> None:
    """They are of builds that take long."""
    for name in CLUSTERS:
        assert "Tiered" not in machine.read_conf(SHIPPED / name)[machine.JAVA_OPTIONS]
        assert (
            machine.all_compilers(SHIPPED / name, Settings()) == machine.read_conf(SHIPPED / name)[machine.JAVA_OPTIONS]
        )


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ({"spark.master": "local[2]", "spark.driver.host": "127.0.0.1"}, ""),
        ({"spark.master": "local-cluster[1,1,512]", "spark.driver.host": "127.0.0.1"}, ""),
        ({"spark.driver.host": "127.0.0.1"}, ""),
        ({"spark.master": "spark://127.0.0.1:7077", "spark.driver.host": "127.0.0.1"}, ""),
        ({"spark.master": "spark://localhost:7077", "spark.driver.host": "localhost"}, ""),
        ({"spark.master": "spark://m:7077"}, ""),
        ({"spark.master": "spark://m:7077", "spark.driver.host": "10.0.0.5"}, ""),
        ({"spark.master": "spark://m:7077", "spark.driver.host": "${env:POD_IP}"}, ""),
        ({"spark.master": "spark://m:7077", "spark.driver.host": "${env:LOOP}"}, "`spark.driver.host` is 127.0.0.9"),
        ({"spark.master": "spark://m:7077", "spark.driver.host": "127.0.0.1"}, "`spark.driver.host` is 127.0.0.1"),
        ({"spark.master": "yarn", "spark.driver.bindAddress": "localhost"}, "`spark.driver.bindAddress` is localhost"),
        ({"spark.master": "k8s://https://k", "spark.driver.host": "localhost"}, "Spark's master is k8s://https://k"),
        ({"spark.master": "k8s://https://k", "spark.driver.host": "${env:NOT_SET}"}, "variable NOT_SET is not set"),
    ],
)
def test_a_driver_that_executors_cannot_reach(conf: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark would wait for ever, and say nothing but that no resources were accepted."""
    monkeypatch.setenv("POD_IP", "10.1.2.3")
    monkeypatch.setenv("LOOP", "127.0.0.9")
    monkeypatch.delenv("NOT_SET", raising=False)
    if not said:
        cluster.check_driver(conf)
        return
    with pytest.raises(SettingsError) as refused:
        cluster.check_driver(conf)
    assert said in str(refused.value) and "`backfill docs clusters`" in refused.value.fix


def test_the_folder_that_ships_with_a_master_is_refused() -> None:
    """The usual mistake: `spark.master` in backfill.yml over the configuration of one machine."""
    with pytest.raises(SettingsError, match="executors cannot reach this process"):
        cluster.check_driver(machine.read_conf(SHIPPED) | {"spark.master": "spark://m:7077"})


def test_which_python_executors_start() -> None:
    """The configuration's, else the path of this one; PYSPARK_PYTHON goes before both."""
    assert cluster.python_of_executors({"spark.pyspark.python": "/opt/venv/bin/python"}) == "/opt/venv/bin/python"
    assert cluster.python_of_executors({}).endswith(("python", "python3", "python3.11", "python3.12", "python3.13"))


def test_another_python_is_told() -> None:
    """By Spark's own check, which is of the minor version."""
    said = "x\n[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver: 3.11\ny"
    told = cluster._other(RuntimeError(said))
    assert "another Python" in told.what and told.why.endswith("3.11") and "PYSPARK_PYTHON" in told.fix
