"""A Dagster project of somebody's own with this one among its components: `dg` finds it, makes it, loads it."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import click
import dagster as dg
import pytest
from dagster.components.core.component_tree import ComponentTree
from dagster.components.testing.utils import component_defs, create_defs_folder_sandbox

from backfill_assets.components import BackfillProjectComponent

pytestmark = [  # how Dagster itself reads YAML, and says where it is
    pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince20"),
    pytest.mark.filterwarnings("ignore::dagster_shared.utils.warnings.BetaWarning"),
    pytest.mark.filterwarnings("ignore::dagster_shared.utils.warnings.PreviewWarning"),
]
TYPE = "backfill_assets.components.BackfillProjectComponent"


def test_its_module_is_where_dg_looks_for_components() -> None:
    (found,) = entry_points(group="dagster_dg_cli.registry_modules", name="backfill_assets")
    assert found.load().BackfillProjectComponent is BackfillProjectComponent


def test_what_is_scaffolded_loads_among_assets_of_others() -> None:
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=BackfillProjectComponent, defs_path="shop")
        assert (path / "backfill.yml").is_file() and (path / ".gitignore").is_file()
        assert (path / "defs.yaml").read_text() == f"type: {TYPE}\n\nattributes:\n  project: .\n"
        (sandbox.defs_folder_path / "theirs.py").write_text(
            "import dagster as dg\n\n\n@dg.asset(deps=['daily_revenue'])\ndef report() -> None: ...\n"
        )
        with sandbox.build_all_defs() as defs:
            keys = {key.to_user_string() for key in defs.resolve_all_asset_keys()}
            graph = defs.resolve_asset_graph()
            assert {"daily_revenue", "revenue_rolling", "shop/orders", "prod/daily_revenue", "report"} <= keys
            assert graph.get(dg.AssetKey("report")).parent_keys == {dg.AssetKey("daily_revenue")}
            assert graph.get(dg.AssetKey("daily_revenue")).partitions_def is not None
            assert {job.name for job in defs.resolve_all_job_defs()} >= {"apply", "approve", "promote", "routine"}
            assert defs.executor is dg.in_process_executor  # one Spark session a run


def test_a_source_that_they_make_is_theirs() -> None:
    with create_defs_folder_sandbox() as sandbox:
        sandbox.scaffold_component(component_cls=BackfillProjectComponent, defs_path="shop")
        (sandbox.defs_folder_path / "theirs.py").write_text(
            "import dagster as dg\n\n\n@dg.asset(key=['shop', 'orders'])\ndef orders() -> None: ...\n"
        )
        shop = sandbox.defs_folder_path / "shop" / "defs.yaml"
        shop.write_text(f"type: {TYPE}\nattributes:\n  existing_assets: [shop.orders]\n")
        with sandbox.build_all_defs() as defs:
            graph = defs.resolve_asset_graph()
            assert graph.get(dg.AssetKey(["shop", "orders"])).is_materializable
            assert graph.get(dg.AssetKey("daily_revenue")).parent_keys == {dg.AssetKey(["shop", "orders"])}


def test_two_projects_with_the_same_models_are_two_components() -> None:
    """Their prefixes keep all of it apart; an executor of the location's own is accepted beside them."""
    with create_defs_folder_sandbox() as sandbox:
        for name in ("north", "south"):
            path = sandbox.scaffold_component(component_cls=BackfillProjectComponent, defs_path=name)
            said = f"key_prefix: [{name}]\n  job_prefix: {name}_\n  in_process: false"
            (path / "defs.yaml").write_text(f"type: {TYPE}\nattributes:\n  {said}\n")
        (sandbox.defs_folder_path / "theirs.py").write_text(
            "import dagster as dg\n\ndefs = dg.Definitions(executor=dg.multiprocess_executor)\n"
        )
        with sandbox.build_all_defs() as defs:
            keys = {key.to_user_string() for key in defs.resolve_all_asset_keys()}
            assert {f"{n}/{k}" for n in ("north", "south") for k in ("daily_revenue", "prod/daily_revenue")} <= keys
            assert {"north_apply", "south_apply"} <= {job.name for job in defs.resolve_all_job_defs()}
            assert {key.split("/")[0] for key in keys} == {"north", "south"}
            assert defs.executor is dg.multiprocess_executor


def test_a_project_may_be_elsewhere(tmp_path: Path) -> None:
    context = ComponentTree.for_test().load_context
    with create_defs_folder_sandbox() as sandbox:
        shop = sandbox.scaffold_component(component_cls=BackfillProjectComponent, defs_path="shop")
        defs = component_defs(component=BackfillProjectComponent(project=str(shop)), context=context)
        assert dg.AssetKey("daily_revenue") in defs.resolve_all_asset_keys()
    with pytest.raises(click.ClickException, match=r"nowhere"):
        component_defs(component=BackfillProjectComponent(project=str(tmp_path / "nowhere")), context=context)


def test_each_problem_is_said_in_plain_text() -> None:
    context = ComponentTree.for_test().load_context
    with create_defs_folder_sandbox() as sandbox:
        shop = sandbox.scaffold_component(component_cls=BackfillProjectComponent, defs_path="shop")
        unknown = BackfillProjectComponent(project=str(shop), existing_assets=["shop.ordres"])
        with pytest.raises(click.ClickException, match=r"shop\.ordres\n.*no such source\n.* shop\.orders"):
            component_defs(component=unknown, context=context)
        (shop / "models" / "daily_revenue.sql").write_text("/*\nstart: 2024-01-01\n*/\nSELEKT 1")
        with pytest.raises(click.ClickException, match=r"daily_revenue\.sql:1"):
            component_defs(component=BackfillProjectComponent(project=str(shop)), context=context)


def test_nothing_is_made_over_what_is_there() -> None:
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=BackfillProjectComponent, defs_path="shop")
        (path / "models" / "daily_revenue.sql").write_text("edited")
        with pytest.raises(click.ClickException, match="is not empty"):
            sandbox.scaffold_component(component_cls=BackfillProjectComponent, defs_path="shop")
        assert (path / "models" / "daily_revenue.sql").read_text() == "edited"
