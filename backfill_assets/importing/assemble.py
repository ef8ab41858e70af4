"""How do all models of another tool's project become models here? Each after those that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from sqlglot import exp

from backfill_assets.importing.columns import used
from backfill_assets.importing.foreign import Foreign, ForeignKind
from backfill_assets.importing.found import Left, ReadSource, Remark, ToCheck, Translation, Untranslatable, refused
from backfill_assets.importing.headers import model_file
from backfill_assets.importing.inferred_types import ROUNDED
from backfill_assets.importing.known_same import known_same
from backfill_assets.importing.query import parse
from backfill_assets.importing.resolve import Inline, Known, Meaning
from backfill_assets.importing.tolerant import ForeignQuery, WrittenQuery, inline, write

_STORED = (ForeignKind.INTERVALS, ForeignKind.FILTERED)


@dataclass(slots=True, kw_only=True)
class Assembly:
    """A project under way. `sources` by the names that queries have for them, lower-cased."""

    models: Mapping[str, Foreign]
    sources: dict[str, Known]
    found: Translation
    start: date | None
    _meanings: dict[str, Meaning] = field(default_factory=dict[str, Meaning])
    _inline: dict[str, Inline] = field(default_factory=dict[str, Inline])
    _checks: dict[str, tuple[ToCheck, ...]] = field(default_factory=dict[str, "tuple[ToCheck, ...]"])
    _errors: dict[str, Left] = field(default_factory=dict[str, Left])
    _busy: list[str] = field(default_factory=list[str])
    _used: dict[str, dict[str, str]] | None = None
    _names: dict[str, str] | None = None
    _written: dict[str, tuple[Foreign, WrittenQuery, tuple[ToCheck, ...]]] = field(
        default_factory=dict[str, "tuple[Foreign, WrittenQuery, tuple[ToCheck, ...]]"]
    )

    def run(self, looked_at: Callable[[int, int], object]) -> None:
        """Translate all, and note what is left; `looked_at` hears how many are, and of how many."""
        readers = self._readers()
        for number, (key, model) in enumerate(self.models.items(), start=1):
            looked_at(number, len(self.models))
            if model.kind in (*_STORED, ForeignKind.TABLE) or not readers.get(key):
                self._settle(model, store=True)
        for key, model in self.models.items():
            self._settle(model, store=False)
            if model.kind is ForeignKind.VIEW and model.name.lower() not in self._inside() | self._written.keys():
                self._meanings.pop(key, None)
                self._settle(model, store=True)
        self._render()
        for key, model in self.models.items():
            if model.name in self._written:
                continue
            if model.name.lower() in self._inside():
                self.found.within[model.name] = f"{model.file}:{model.line}"
                self.found.remarks += _unasked(model)
            elif key in self._errors:
                self.found.left.append(self._errors[key])
            else:
                what = f"a {model.kind} that no translated model reads"
                self.found.left.append(
                    Left(model=model.said, place=f"{model.file}:{model.line}", what=what,
                         why="it has no days of its own", fix="keep it there as a query over what is shown here")
                )  # fmt: skip

    def _inside(self) -> set[str]:
        return {n.lower() for _, w, _ in self._written.values() for n in w.inlined}

    def _render(self) -> None:
        """The files, once it is known which models and sources there are for audits to look at."""
        there = {*self._written, *(n for n, s in self.found.sources.items() if s.columns)}
        there |= {known.name for known in self.sources.values() if known.columns}
        shared = tuple(replace(c, model="") for c in self.found.checks[:1])  # said of all models: none is known then
        for name, (model, written, inner) in self._written.items():
            inner = (*inner, *shared)
            file = model_file(model, written, self.start, inner, there)
            self.found.models[name] = file
            self.found.remarks += [*model.remarks, *file.remarks]

    def _readers(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for key, model in self.models.items():
            for name in _tables(model):
                if name != key:
                    found.setdefault(self._short().get(name, name), set()).add(key)
        return found

    def _settle(self, model: Foreign, *, store: bool) -> None:
        """Make the model a file, or a part of its readers, once."""
        if model.key in self._meanings or (model.key in self._errors and not store):
            return
        if model.key in self._busy:
            raise Untranslatable(f"`{model.said}` reads itself", why="a day's rows would depend on others")
        self._busy.append(model.key)
        try:
            if model.problem is not None:
                raise model.problem
            if store and model.kind is not ForeignKind.PART:
                self._stored(model)
            if model.kind not in _STORED and model.key not in self._inline:
                self._inlined(model)
        except Untranslatable as error:
            self._errors.setdefault(model.key, refused(error, model.said, model.file))
        except RecursionError:
            error = Untranslatable("models read each other too deeply", line=model.line)
            self._errors.setdefault(model.key, refused(error, model.said, model.file))
        finally:
            self._busy.pop()

    def _stored(self, model: Foreign) -> None:
        try:
            same = known_same(model, self._exact)
        except Untranslatable as error:
            unknown = model.check(error.line, f"not known to be the same: {error.what}", error.why)
            named = error.why == ROUNDED
        else:
            self._write(model, same, ())
            return
        asked = replace(_asked(model), inferred=model.inferred and not named)
        try:
            written = write(asked, self._look)
        except Untranslatable as error:
            if model.kind in _STORED and not self._inline:
                raise
            try:
                written = write(asked, self._parts)
            except Untranslatable:
                raise error from None
        inner = [c for name in written.inlined for c in self._checks.get(name, ())]
        self._write(model, written, (unknown, *inner))

    def _write(self, model: Foreign, written: WrittenQuery, inner: tuple[ToCheck, ...]) -> None:
        self._written[model.name] = (model, written, inner)
        self._errors.pop(model.key, None)
        days = frozenset({written.time_column.lower(), written.original.lower()})
        columns = {n.lower(): t for n, t in written.columns.items()}
        self._meanings[model.key] = Known(
            name=model.name,
            columns=columns,
            days=days,
            model=True,
            unsure=bool(model.checks or written.checks or inner or self.found.checks),
        )

    def _inlined(self, model: Foreign) -> None:
        part, checks = inline(_asked(model), model.name, self._parts)
        self._inline[model.key] = part
        own = tuple(model.check(c.line, c.what, c.why) for c in checks)
        self._checks[model.name.lower()] = (*own, *model.checks)
        self._meanings.setdefault(model.key, part)

    def _look(self, written: str, line: int) -> Meaning:
        """What a name means: a model by its days where it has any, else a part, else a table that others write."""
        return self._mean(written, line, parts=False)

    def _parts(self, written: str, line: int) -> Meaning:
        """The same with models of no days of their own as parts, although they have a file."""
        return self._mean(written, line, parts=True)

    def _mean(self, written: str, line: int, *, parts: bool) -> Meaning:
        model = self._model(written)
        if model is None:
            return self._source(written, line)
        key = model.key
        self._settle(model, store=model.kind in (*_STORED, ForeignKind.TABLE))
        if parts and key in self._inline:
            return self._inline[key]
        meaning = self._meanings.get(key)
        return meaning if meaning is not None else self._theirs(model, line)

    def _model(self, written: str) -> Foreign | None:
        return self.models.get(written.lower()) or self.models.get(self._short().get(written.lower(), ""))

    def _exact(self, written: str, line: int) -> Known:
        """A model or source with all of its types. Raises Untranslatable when they are not known."""
        meaning = self._look(written, line)
        if isinstance(meaning, Inline):
            model = self._model(written)
            raise Untranslatable(f"`{model.said if model is not None else written}` is no table here", line=line)
        return meaning

    def _short(self) -> Mapping[str, str]:
        """Keys of models by what else they may be called: with the catalog, or without."""
        if self._names is None:
            whole = [n for m in self.models.values() for n in _tables(m)]
            names = [*whole, *self.models, *self.sources]
            self._names = {}
            for key in self.models:
                for name in names:
                    if name != key and (name.endswith(f".{key}") or key.endswith(f".{name}")) and "." in name:
                        self._names[name] = key
        return self._names

    def _source(self, written: str, line: int) -> Known:
        last = [n for n in self.sources if written.lower().endswith(f".{n}") and "." in n]
        known = self.sources.get(written.lower()) or (self.sources[last[0]] if len(last) == 1 else None)
        if known is not None and known.columns:
            return known
        if known is not None and known.broken:
            why = "its columns are not declared as columns are: the report names the one"
            raise Untranslatable(f"`{known.name}` is read", why=why, fix="mend that, and import again", line=line)
        name = known.name if known is not None else ".".join(p.strip('`"') for p in written.split(".")[-3:])
        columns = self._guessed().get(written.lower())
        if not columns:
            fix = "declare it in sources.yml with its columns, and import again"
            why = "no model that is translated, and no source with columns, has that name"
            raise Untranslatable(f"`{name}` is read", why=why, fix=fix, line=line)
        return self._add(written.lower(), name, name, columns, (), guessed=True)

    def _theirs(self, model: Foreign, line: int) -> Known:
        """The table of a model that is not translated: the other tool goes on writing it."""
        columns = dict(model.columns) or self._guessed().get(model.key, {})
        if not columns or not model.table:
            fix = "declare its table in sources.yml with its columns, and import again"
            why = "it is not translated, and its columns are not known"
            raise Untranslatable(f"`{model.said}` is read", why=why, fix=fix, line=line)
        what = f"`{model.said}` is not translated: its table is a source here, which the other tool goes on writing"
        checks = (model.check(model.line, what),)
        return self._add(model.key, model.said, model.table, columns, checks, guessed=not model.columns)

    def _add(
        self, key: str, name: str, table: str, columns: Mapping[str, str], checks: tuple[ToCheck, ...], *, guessed: bool
    ) -> Known:
        known = Known(name=name, columns={n.lower(): t for n, t in columns.items()}, unsure=True)
        if name in self.found.sources:
            table = self.found.sources[name].table or table
        why = "no types are declared there: a wrong one stops the build, or casts values"
        guess = ToCheck(model=name, place="sources.yml:1", what="its columns are guessed from names and use", why=why)
        told = (*checks, guess) if guessed else checks
        seen = self.found.sources.get(name)
        self.found.sources[name] = ReadSource(
            name=name, table=table, columns=dict(columns), checks=told,
            description=seen.description if seen else "", more=seen.more if seen else {},
        )  # fmt: skip
        self.sources[key] = known
        return known

    def _guessed(self) -> dict[str, dict[str, str]]:
        """Columns of tables that nobody declares, from all queries that read them."""
        if self._used is None:
            self._used = {}
            lost: set[str] = set()
            for model in self.models.values():
                tree = _tree(model)
                if tree is None:
                    continue
                names = {n for n in _tables(model) if not self.sources.get(n, Known(name="", columns={})).columns}
                found = used(tree, names, {n: k.columns for n, k in self.sources.items()})
                lost |= names - found.keys() - ({model.key} if model.key in names else set())
                for name, columns in found.items():
                    self._used.setdefault(name, {}).update(columns)
            for name in lost & self._used.keys():
                del self._used[name]
        return self._used


def assemble(
    models: Sequence[Foreign],
    sources: Mapping[str, Known],
    found: Translation,
    start: date | None,
    looked_at: Callable[[int, int], object],
) -> None:
    """Translate models with the sources that they read into `found`."""
    Assembly(models={m.key: m for m in models}, sources=dict(sources), found=found, start=start).run(looked_at)
    used_names = {name for m in found.models.values() for name in m.reads}
    found.sources = {n: s for n, s in found.sources.items() if n in used_names}


def _unasked(model: Foreign) -> list[Remark]:
    """The audits of a model that is a part of others: no table of its own is there for them."""
    kinds = [
        f"{kind} of {', '.join(_columns(said))}" if _columns(said) else kind
        for a in model.audits
        for kind, said in a.items()
    ]
    what = "of what is a part of others is not carried over: write it for a model that reads it"
    return [Remark(model=model.said, place=f"{model.file}:{model.line}", what=f"the audit {k} {what}") for k in kinds]


def _columns(said: object) -> list[str]:
    columns = said.get("columns", said.get("column")) if isinstance(said, Mapping) else None
    return [str(c) for c in columns] if isinstance(columns, list) else [str(columns)] if columns else []


def _asked(model: Foreign) -> ForeignQuery:
    return ForeignQuery(
        text=model.query, line=model.query_line, dialect=model.dialect, bounded=model.kind is ForeignKind.INTERVALS,
        time_column=model.time_column, time_format=model.time_format, cadence=model.cadence, cut=model.cut,
        run=model.run, batch=model.batch, inferred=model.inferred,
    )  # fmt: skip


def _tree(model: Foreign) -> exp.Query | None:
    if not model.query:
        return None
    try:
        tree = parse("\n" * (model.query_line - 1) + model.query, model.query_line, model.dialect)
    except Untranslatable:
        return None
    return tree if isinstance(tree, exp.Query) else None


def _tables(model: Foreign) -> set[str]:
    """The names of tables in a query, lower-cased; those of its own parts among them."""
    tree = _tree(model)
    if tree is None:
        return set()
    return {".".join(p.name for p in t.parts).lower() for t in tree.find_all(exp.Table)} - {
        c.alias.lower() for c in tree.find_all(exp.CTE)
    }
