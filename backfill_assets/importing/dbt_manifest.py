"""What is in a dbt manifest? Nodes, sources and tests by their ids; the file is read, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backfill_assets.core.errors import SettingsError
from backfill_assets.files.documents import read_yaml
from backfill_assets.files.texts import read_text
from backfill_assets.importing.header import plain

Node = Mapping[str, object]
DIALECTS = {
    "fabric": "tsql", "sqlserver": "tsql", "synapse": "tsql", "mariadb": "mysql", "athena": "athena",
    "postgres": "postgres", "spark": "spark", "databricks": "databricks", "duckdb": "duckdb", "bigquery": "bigquery",
    "snowflake": "snowflake", "redshift": "redshift", "trino": "trino", "clickhouse": "clickhouse", "mysql": "mysql",
    "sqlite": "sqlite", "oracle": "oracle", "teradata": "teradata", "glue": "spark", "starrocks": "starrocks",
}  # fmt: skip
"""sqlglot's dialects by dbt's adapters."""
PROJECT_FILE = "dbt_project.yml"
_LARGEST = 200 * 1024 * 1024
_VERSIONS = ("v10", "v11", "v12")


@dataclass(frozen=True, slots=True, kw_only=True)
class DbtManifest:
    """The parts of a manifest, by unique id. `folder` is the project's, when it is the one that the manifest is in."""

    data: Mapping[str, object]
    nodes: Mapping[str, Node]
    sources: Mapping[str, Node]
    adapter: str
    tests: Mapping[str, Sequence[Node]]
    """Generic tests, by the id of the model, source or seed that they are of."""
    folder: Path | None
    variables: Mapping[str, object] = field(default_factory=dict[str, object])
    """`vars:` of dbt_project.yml beside the manifest: values, and those of one package under its name."""

    def variables_of(self, node: Node) -> Mapping[str, object]:
        """What `var` says in a node's code, unless a run was told otherwise (`--vars`)."""
        packages = {str(other.get("package_name")) for other in self.nodes.values()}
        shared = {name: value for name, value in self.variables.items() if name not in packages}
        return {**shared, **mapping(self.variables.get(str(node.get("package_name"))))}

    @property
    def dialect(self) -> str:
        """sqlglot's name of the adapter's dialect; empty when it has none."""
        return DIALECTS.get(self.adapter, "")

    @property
    def every(self) -> Mapping[str, Node]:
        return {**self.nodes, **self.sources}


def read_manifest(file: Path) -> DbtManifest:
    """The manifest in a file. Raises SettingsError when it is none that is known."""
    data = _load(file)
    nodes, sources = items(data.get("nodes")), items(data.get("sources"))
    tests: dict[str, list[Node]] = {}
    for node in nodes.values():
        if node.get("resource_type") == "test" and node.get("test_metadata"):
            about = [str(node["attached_node"])] if node.get("attached_node") else list(depends_on(node))
            for unique_id in about:
                tests.setdefault(unique_id, []).append(node)
    metadata = mapping(data.get("metadata"))
    folder = file.resolve().parent.parent
    project = folder / PROJECT_FILE
    return DbtManifest(
        data=data, nodes=nodes, sources=sources, adapter=str(metadata.get("adapter_type") or ""), tests=tests,
        folder=folder if project.is_file() else None, variables=_variables(project) if project.is_file() else {},
    )  # fmt: skip


def _variables(file: Path) -> Mapping[str, object]:
    """`vars:` of a dbt_project.yml; nothing where it cannot be read: a model that needs one is named."""
    text = read_text(file, [])
    document = read_yaml(text, file, []) if text is not None else None
    return mapping(mapping(document.data).get("vars")) if document is not None else {}


def _load(file: Path) -> Mapping[str, object]:
    def refuse(why: str) -> SettingsError:
        return SettingsError(f"{file} is no dbt manifest", why=why, fix="name target/manifest.json of `dbt parse`")

    try:
        if not file.is_file():
            raise refuse("there is no such file")
        if file.stat().st_size > _LARGEST:
            raise refuse(f"it has more than {_LARGEST:,} bytes")
        data = json.loads(file.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise refuse("it is not UTF-8") from None
    except RecursionError:
        raise refuse("it is nested too deeply") from None
    except ValueError as error:
        raise refuse(f"it is no JSON: {error}") from None
    except OSError as error:
        raise refuse(error.strerror or str(error)) from None
    metadata = data.get("metadata") if isinstance(data, dict) else None
    schema = str(metadata.get("dbt_schema_version")) if isinstance(metadata, dict) else ""
    if not any(schema.endswith(f"/manifest/{version}.json") for version in _VERSIONS):
        raise refuse(f"its schema is {plain(schema) or 'not said'}; known are {', '.join(_VERSIONS)}")
    return data


def items(value: object) -> dict[str, Node]:
    """The nodes of a part of the manifest: those that are mappings."""
    if not isinstance(value, Mapping):
        return {}
    return {str(k): {**n, "unique_id": str(k)} for k, n in value.items() if isinstance(n, Mapping)}


def depends_on(node: Node) -> Iterator[str]:
    """The ids of what a node reads."""
    said = mapping(node.get("depends_on")).get("nodes")
    yield from [str(d) for d in said] if isinstance(said, list) else []


def mapping(value: object) -> Mapping[str, object]:
    """A mapping as it is; anything else as an empty one."""
    return {str(k): v for k, v in value.items()} if isinstance(value, Mapping) else {}


def file_of(node: Node) -> str:
    """The file that a node is written in, from the project's folder."""
    return plain(str(node.get("original_file_path") or "manifest.json"))


def place(node: Node) -> str:
    """The first line of it."""
    return f"{file_of(node)}:1"


def table_of(node: Node) -> str:
    """Where the rows of a node are, as sources.yml writes it."""
    parts = [str(node.get("schema") or ""), str(node.get("alias") or node.get("identifier") or node.get("name"))]
    return ".".join(p if p.replace("_", "a").isalnum() else f"`{p.replace('`', '')}`" for p in parts if p)


def declared_columns(node: Node) -> Mapping[str, Node]:
    """The columns that a node declares, by name."""
    return {str(mapping(c).get("name") or k): mapping(c) for k, c in mapping(node.get("columns")).items()}
