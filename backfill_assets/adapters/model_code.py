"""How does a Python model's text become a function? With the project's modules that it imports, from their texts, too.

What runs is what the version's name was made from: neither a file that was edited since, nor a module of the same name
that another model, or another project in this process, imported. A function has one module of each name, whenever it is
imported: its classes and registries are the same ones. Spark's workers know no module of the project, so what these
define is sent to them by value, and what a function imports as it runs (`late_imports.py`).
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from backfill_assets.adapters.late_imports import LOOKUP, LateImports, with_lookups
from backfill_assets.core.model import Model

_LOCK = threading.RLock()
_OURS: weakref.WeakSet[ModuleType] = weakref.WeakSet()
"""The modules that were loaded here."""
_OTHERS = sys.stdlib_module_names | {"backfill_assets"}
"""Modules that are there for everybody: a file of the project cannot take their place."""


@dataclass(slots=True)
class _Loaded:
    """The project's modules as one model has them; and, while `scopes` of its threads look for them, those of others
    that have the same names."""

    modules: dict[str, ModuleType] = field(default_factory=dict[str, ModuleType])
    hidden: dict[str, ModuleType] = field(default_factory=dict[str, ModuleType])
    names: Collection[str] = ()
    """All that the model could import."""
    scopes: int = 0


def load_function(model: Model, root: Path) -> Callable[..., Any]:
    """The model's function; calling it may import the project's modules as well. `root` is the project's folder."""
    module = ModuleType(f"backfill_model_{model.name}")
    module.__file__ = str(model.path)
    loaded = _Loaded()
    with _LOCK, _importing(model, root, loaded) as finder:
        exec(finder.code_of(module, model.code, str(model.path)), module.__dict__)
    function = getattr(module, model.name)

    def call(**arguments: Any) -> Any:
        with _importing(model, root, loaded):
            return function(**arguments)

    return call


@contextmanager
def _importing(model: Model, root: Path, loaded: _Loaded) -> Generator[_Finder]:
    """Imports by this thread find the project's modules as they were read, each as it was `loaded`; nobody finds them
    afterwards."""
    places = (model.path.parent, root, root / "models")
    texts = {root / name: text for name, text in model.files.items() if name.endswith(".py")}
    finder = _Finder(texts, places, lambda: _alone(model, root, loaded), loaded)
    loaded.names = finder.names
    there = [str(place) for place in places if str(place) not in sys.path]
    with _LOCK:
        sys.path += there  # for packages without an __init__.py, and for what no text mentions
        sys.meta_path.insert(0, finder)
        if not loaded.scopes:
            found = {name: sys.modules.pop(name) for name in finder.names if name in sys.modules}
            loaded.hidden = {name: module for name, module in found.items() if module not in _OURS}
            sys.modules.update(loaded.modules)
        loaded.scopes += 1
    try:
        yield finder
    finally:
        with _LOCK:
            sys.meta_path.remove(finder)
            loaded.scopes -= 1
            if not loaded.scopes:
                for name in finder.names:
                    sys.modules.pop(name, None)
                sys.modules.update(loaded.hidden)


@contextmanager
def _alone(model: Model, root: Path, loaded: _Loaded) -> Generator[None]:
    """The same for one import, whatever other models' threads import meanwhile: nobody else finds or changes a module
    until it is over."""
    with _LOCK, ExitStack() as scopes:
        if not any(isinstance(finder, _Finder) and finder.is_of_this_thread for finder in sys.meta_path):
            scopes.enter_context(_importing(model, root, loaded))
        before = {name: sys.modules.pop(name) for name in loaded.names if name in sys.modules}
        sys.modules.update(loaded.modules)
        try:
            yield
        finally:
            for name in loaded.names:
                sys.modules.pop(name, None)
            sys.modules.update(before)


class _Finder(MetaPathFinder):
    """Finds modules by the texts of their files, for one thread."""

    def __init__(
        self,
        texts: Mapping[Path, str],
        places: Sequence[Path],
        importing: Callable[[], AbstractContextManager[None]],
        loaded: _Loaded,
    ) -> None:
        self._thread, self._texts, self._places = threading.get_ident(), texts, places
        self._importing, self.loaded = importing, loaded
        names = {_name(file, place) for file in texts for place in places}
        self.names = {name for name in names if name and name.partition(".")[0] not in _OTHERS}

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The module's spec; None for other modules, and for other threads."""
        if not self.is_of_this_thread or fullname not in self.names:
            return None
        for place in self._places:
            stem = place.joinpath(*fullname.split("."))
            for file in (stem / "__init__.py", stem.with_suffix(".py")):
                if (text := self._texts.get(file)) is not None:
                    folders = [str(stem)] if file.name == "__init__.py" else None
                    loader = _Loader(fullname, str(file), text, self)
                    return spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=folders)
        return None

    @property
    def is_of_this_thread(self) -> bool:
        return threading.get_ident() == self._thread

    def code_of(self, module: ModuleType, text: str, path: str) -> CodeType:
        """The compiled text of a module, which gets what its functions look up as they run."""
        tree, keys = with_lookups(text, path, self.names)
        if keys:
            module.__dict__[LOOKUP] = LateImports(keys, self._importing)
        return compile(tree, path, "exec", dont_inherit=True)


class _Loader(SourceFileLoader):
    """Loads a module from its text. Python's cache of compiled files would miss an edit within the same second."""

    def __init__(self, fullname: str, path: str, text: str, finder: _Finder) -> None:
        super().__init__(fullname, path)
        self._text, self._finder = text, finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The one that is loaded: another model's thread may have taken it from `sys.modules`."""
        return self._finder.loaded.modules.get(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run it once, and have all that it defines sent to Spark's workers by value."""
        from pyspark import cloudpickle

        if self._finder.loaded.modules.get(self.name) is not module:
            _OURS.add(module)
            exec(self._finder.code_of(module, self._text, self.path), module.__dict__)
            cloudpickle.register_pickle_by_value(module)
        # A module that is sent as a whole is sent with these; a worker has no such loader.
        module.__spec__ = module.__loader__ = None  # pyright: ignore[reportAttributeAccessIssue]
        self._finder.loaded.modules[self.name] = module


def _name(file: Path, place: Path) -> str:
    """What a file is imported as from a folder; empty when it is not below it."""
    if not file.is_relative_to(place):
        return ""
    parts = file.relative_to(place).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
