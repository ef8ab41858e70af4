"""What does a dbt manifest say here? Its models, with their tests; sources, seeds and exposures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from backfill_assets.files.validation import name_problem
from backfill_assets.importing.assemble import assemble
from backfill_assets.importing.dbt_manifest import (
    DbtManifest,
    Node,
    declared_columns,
    depends_on,
    file_of,
    items,
    mapping,
    place,
    read_manifest,
    table_of,
)
from backfill_assets.importing.dbt_model import dbt_model, written_name
from backfill_assets.importing.foreign import Foreign
from backfill_assets.importing.found import Left, ReadSource, Remark, ToCheck, Translation, Untranslatable, refused
from backfill_assets.importing.header import plain
from backfill_assets.importing.resolve import Known
from backfill_assets.importing.seeds import as_they_are, listed, seed_source
from backfill_assets.importing.types import spark_type

_OWN_MACROS = re.compile(
    r"(\w+__)?(ref|source|config|is_incremental|test_(not_null|unique|accepted_values|relationships)"
    r"|materialization_incremental_\w+|get_(incremental|delete_insert|insert_overwrite|merge)\w*)"
)
_KINDS = {
    "dashboard": "dashboard",
    "notebook": "notebook",
    "analysis": "report",
    "ml": "model",
    "application": "service",
}
_PERIODS = {"minute": "m", "hour": "h", "day": "d"}


def read_dbt(
    file: Path,
    sources: Mapping[str, Mapping[str, str]],
    start: date | None,
    looked_at: Callable[[int, int], object],
) -> Translation:
    """All of a manifest. `sources` are those that are declared here already, with Spark types of columns; `start` is
    the first day of models that say none; `looked_at` hears how many models are, and of how many.

    Raises SettingsError when the file is no manifest that is known.
    """
    manifest = read_manifest(file)
    found = Translation()
    found.checks += _project_checks(manifest)
    own = {
        name.lower(): Known(name=name, columns={c.lower(): t for c, t in cs.items()}) for name, cs in sources.items()
    }
    tables = _sources(manifest, found, own)
    found.left += _others(manifest)
    for unique_id in items(manifest.data.get("disabled")):
        found.remarks.append(
            Remark(model=plain(unique_id), place="manifest.json:1", what="disabled, so it is left out")
        )
    nodes = {u: n for u, n in manifest.nodes.items() if n.get("resource_type") in ("model", "snapshot")}
    names = {**_names(nodes), **{u: known.name for u, known in tables.items()}}
    models = [dbt_model(n, manifest, names) for n in nodes.values()]
    assemble(
        [_named(m) for m in models],
        {written_name(u, manifest.every[u]).lower(): known for u, known in tables.items()},
        found,
        start,
        looked_at,
    )
    _consumers(manifest, names, found)
    found.sources = {n: s for n, s in found.sources.items() if n.lower() not in own}
    return found


def _project_checks(manifest: DbtManifest) -> Iterator[ToCheck]:
    """What makes it uncertain what any model says."""
    if not manifest.dialect:
        why = "sqlglot has no dialect for it: queries are read as plain SQL"
        yield ToCheck(
            model="", place="manifest.json:1", what=f"the adapter {plain(manifest.adapter) or '(none)'}", why=why
        )
    for macro in items(manifest.data.get("macros")).values():
        package = str(macro.get("package_name") or "")
        if package.startswith("dbt_") or package == "dbt":
            continue
        if _OWN_MACROS.fullmatch(str(macro.get("name"))):
            what = f"the macro {plain(str(macro.get('name')))}"
            yield ToCheck(model="", place=place(macro), what=what, why="the project changes what dbt's own words mean")


def _sources(manifest: DbtManifest, found: Translation, own: Mapping[str, Known]) -> dict[str, Known]:
    """Sources and seeds by their unique ids. Those without columns have the ones that their readers use."""
    tables: dict[str, Known] = {}
    for unique_id, node in manifest.sources.items():
        name = f"{node.get('source_name')}.{node.get('name')}"
        name = ".".join(re.sub(r"\W", "_", part) for part in name.split("."))
        if name.lower() in own:
            tables[unique_id] = own[name.lower()]
            continue
        declared = declared_columns(node)
        columns: dict[str, str] = {}
        for column, said in declared.items():
            kind = spark_type(str(said.get("data_type")), manifest.dialect) if said.get("data_type") else None
            if kind is not None:
                columns[column] = kind
        sure = bool(columns) and len(columns) == len(declared)
        tables[unique_id] = Known(name=name, columns={c.lower(): t for c, t in columns.items()} if sure else {})
        more = {"freshness": said} if (said := _freshness(node)) else {}
        loaded = str(node.get("loaded_at_field") or "")
        if more and sure and columns.get(loaded, "") in ("timestamp", "date"):
            more["time_column"] = loaded
        found.sources[name] = ReadSource(
            name=name, table=table_of(node), columns=columns if sure else {},
            description=plain(str(node.get("description") or "")), more=more,
        )  # fmt: skip
    for unique_id, node in manifest.nodes.items():
        if node.get("resource_type") == "seed":
            tables[unique_id] = _seed(node, manifest, found, own)
    for unique_id, known in tables.items():
        for test in manifest.tests.get(unique_id, ()):
            said = plain(str(test.get("name")))
            what = f"the test {said} of a source is not carried over: see `key:` in `backfill docs models`"
            found.remarks.append(Remark(model=known.name, place=place(test), what=what))
    return tables


def _seed(node: Node, manifest: DbtManifest, found: Translation, own: Mapping[str, Known]) -> Known:
    name = str(node.get("name"))
    if name.lower() in own:
        return own[name.lower()]
    config = mapping(node.get("config"))
    declared: dict[str, str] = {}
    said = {**{c: d.get("data_type") for c, d in declared_columns(node).items()}, **mapping(config.get("column_types"))}
    for column, written in said.items():
        if written and (kind := spark_type(str(written), manifest.dialect)) is not None:
            declared[column] = kind
    file = (manifest.folder / str(node.get("original_file_path"))).resolve() if manifest.folder is not None else None
    if file is not None and file.is_relative_to(manifest.folder or file) and file.is_file() and not name_problem(name):
        try:
            source = seed_source(
                name, file, declared, place(node), plain(str(node.get("description") or "")),
                delimiter=str(config.get("delimiter") or ","),
                texts=as_they_are if manifest.adapter == "duckdb" else _by_agate,
            )  # fmt: skip
        except Untranslatable as error:
            found.left.append(refused(error, plain(name), file_of(node)))
        else:
            found.sources[name] = source
            return Known(
                name=name, columns={c.lower(): t for c, t in source.columns.items()}, unsure=bool(source.checks)
            )
    else:
        why = "its file is not in the manifest's project: it is read from the table that it fills"
        found.checks.append(ToCheck(model=plain(name), place=place(node), what="a seed", why=why))
    clean = re.sub(r"\W", "_", name)
    found.sources[clean] = ReadSource(name=clean, table=table_of(node), columns=declared)
    return Known(name=clean, columns={c.lower(): t for c, t in declared.items()})


def _by_agate(column: str, kind: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What dbt makes of a seed's texts, where its adapter does not let the engine read the file."""
    if nulls := [t for t in texts if t.strip().lower() == "null"]:
        why = "dbt reads them as NULL, Spark as texts: make them empty in the copy, or NULL in models"
        yield f"{listed(nulls)} in the column `{plain(column)}` of a seed", why


def _freshness(node: Node) -> str:
    """`36h`, when it is an error there for rows to be older."""
    for key in ("error_after", "warn_after"):
        said = mapping(mapping(node.get("freshness")).get(key))
        count, period = said.get("count"), str(said.get("period"))
        if isinstance(count, int) and count > 0 and period in _PERIODS:
            return f"{count}{_PERIODS[period]}"
    return ""


def _names(nodes: Mapping[str, Node]) -> dict[str, str]:
    """What models are called here: with package or version only where they share a name."""
    names = [str(n.get("name")).lower() for n in nodes.values()]
    found: dict[str, str] = {}
    for unique_id, node in nodes.items():
        name = str(node.get("name"))
        if names.count(name.lower()) > 1:
            version = f"_v{node['version']}" if node.get("version") is not None else f"__{node.get('package_name')}"
            name = re.sub(r"\W", "_", f"{name}{version}")
        found[unique_id] = name
    return found


def _named(model: Foreign) -> Foreign:
    if problem := name_problem(model.name):
        error = Untranslatable(f"the name {plain(model.name)}", why=problem, line=model.line)
        return replace(model, problem=error)
    return model


def _others(manifest: DbtManifest) -> Iterator[Left]:
    """What has no counterpart among models and audits."""
    for node in manifest.nodes.values():
        if node.get("resource_type") == "test" and not node.get("test_metadata"):
            what = f"the singular test {plain(str(node.get('name')))}"
            yield Left(place=place(node), what=what, fix="write it in audits/ (`backfill docs audits`)")
    for word in ("metrics", "semantic_models", "unit_tests", "saved_queries"):
        for node in items(manifest.data.get(word)).values():
            what = f"{word}: {plain(str(node.get('name')))}"
            yield Left(place=place(node), what=what, why="nothing here is like it")


def _consumers(manifest: DbtManifest, names: Mapping[str, str], found: Translation) -> None:
    """Exposures as entries of consumers.yml, with all that they read; which of it is written here is seen later."""
    for node in items(manifest.data.get("exposures")).values():
        owner = mapping(node.get("owner"))
        name = re.sub(r"\W", "_", str(node.get("name")))
        entry: dict[str, object] = {"name": name, "kind": _KINDS.get(str(node.get("type")), "report")}
        if text := plain(str(owner.get("email") or owner.get("name") or "")):
            entry["owner"] = text
        reads = [names.get(d, plain(d)) for d in depends_on(node)]
        if problem := name_problem(name):
            what = f"the exposure {plain(str(node.get('name')))}"
            found.left.append(Left(place=place(node), what=what, why=problem))
        elif not reads:
            what = f"the exposure {plain(str(node.get('name')))} reads no model and no source"
            found.left.append(Left(place=place(node), what=what, why="consumers.yml has those that read tables"))
        else:
            found.consumers.append({**entry, "reads": reads})
            found.consumer_places[name] = place(node)
