"""How does a Python model's text become a function? With the project's modules that it imports, from their texts, too.

What runs is what the version's name was made from: neither a file that was edited since, nor a module of the same name
that another model, or another project in this process, imported. A function has one module of each name, whenever it is
imported: its classes and registries are the same ones. Spark's workers know no module of the project, so what these
define is sent to them by value, and what a function imports as it runs (`late_imports.py`).
"""

from __future__ import annotations

import ast
import sys
import threading
import weakref
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from backfill_assets.adapters.late_imports import LOOKUP, LateImports, with_lookups
from backfill_assets.core.model import Model
from backfill_assets.python_models.reads import anchored

_LOCK = threading.RLock()
_OURS: weakref.WeakSet[ModuleType] = weakref.WeakSet()
"""The modules that were loaded here."""
_OTHERS = sys.stdlib_module_names | {"backfill_assets"}
"""Modules that are there for everybody: a file of the project cannot take their place."""


def load_function(model: Model, root: Path) -> Callable[..., Any]:
    """The model's function; calling it may import the project's modules as well. `root` is the project's folder."""
    module = ModuleType(f"backfill_model_{model.name}")
    module.__file__ = str(model.path)
    modules = _Modules(model, root)
    with _LOCK, modules.found():
        exec(modules.code_of(module, model.code, str(model.path)), module.__dict__)
    function = getattr(module, model.name)

    def call(**arguments: Any) -> Any:
        with modules.found():
            return function(**arguments)

    return call


class _Modules:
    """The project's modules as one model has them: one of each name, by the texts of their files."""

    def __init__(self, model: Model, root: Path) -> None:
        self._root = root
        self._places = (model.path.parent, root, root / "models")
        self._texts = {root / name: text for name, text in model.files.items() if name.endswith(".py")}
        names = {_name(file, place) for file in self._texts for place in self._places}
        self.names = {name for name in names if name and name.partition(".")[0] not in _OTHERS}
        self.loaded: dict[str, ModuleType] = {}
        self._hidden: dict[str, ModuleType] = {}  # others of the same names, while these are found
        self._scopes = 0

    @contextmanager
    def found(self) -> Generator[None]:
        """Imports by this thread find them; nobody finds them afterwards."""
        finder = _Finder(self)
        there = [str(place) for place in self._places if str(place) not in sys.path]
        with _LOCK:
            sys.path += there  # for packages without an __init__.py, and for what no text mentions
            sys.meta_path.insert(0, finder)
            if not self._scopes:
                hidden = self._replaced(self.loaded)
                self._hidden = {name: module for name, module in hidden.items() if module not in _OURS}
            self._scopes += 1
        try:
            yield
        finally:
            with _LOCK:
                sys.meta_path.remove(finder)
                self._scopes -= 1
                if not self._scopes:
                    self._replaced(self._hidden)

    @contextmanager
    def alone(self) -> Generator[None]:
        """The same for one import, whatever other models' threads import meanwhile: nobody else finds or changes a
        module until it is over."""
        with _LOCK, ExitStack() as scopes:
            if not any(isinstance(finder, _Finder) and finder.is_of_this_thread for finder in sys.meta_path):
                scopes.enter_context(self.found())
            before = self._replaced(self.loaded)
            try:
                yield
            finally:
                self._replaced(before)

    def _replaced(self, modules: Mapping[str, ModuleType]) -> dict[str, ModuleType]:
        """What had these names in `sys.modules`, which has `modules` from now on."""
        found = {name: sys.modules.pop(name) for name in self.names if name in sys.modules}
        sys.modules.update(modules)
        return found

    def spec(self, name: str) -> ModuleSpec | None:
        """Where a module is loaded from; None for those of others."""
        if name not in self.names:
            return None
        for place in self._places:
            stem = place.joinpath(*name.split("."))
            for file in (stem / "__init__.py", stem.with_suffix(".py")):
                if (text := self._texts.get(file)) is not None:
                    folders = [str(stem)] if file.name == "__init__.py" else None
                    loader = _Loader(name, str(file), text, self)
                    return spec_from_file_location(name, file, loader=loader, submodule_search_locations=folders)
        return None

    def code_of(self, module: ModuleType, text: str, path: str) -> CodeType:
        """The compiled text of a module: it reads the files that its version counts, and has what its functions look up
        as they run."""
        tree = ast.parse(text, path)
        anchored(tree, Path(path), self._root)
        tree, keys = with_lookups(tree, self.names)
        if keys:
            module.__dict__[LOOKUP] = LateImports(keys, self.alone)
        return compile(tree, path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Finds a model's modules, for one thread."""

    def __init__(self, modules: _Modules) -> None:
        self._thread, self._modules = threading.get_ident(), modules

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The module's spec; None for other modules, and for other threads."""
        return self._modules.spec(fullname) if self.is_of_this_thread else None

    @property
    def is_of_this_thread(self) -> bool:
        return threading.get_ident() == self._thread


class _Loader(SourceFileLoader):
    """Loads a module from its text. Python's cache of compiled files would miss an edit within the same second."""

    def __init__(self, fullname: str, path: str, text: str, modules: _Modules) -> None:
        super().__init__(fullname, path)
        self._text, self._modules = text, modules

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The one that is loaded: another model's thread may have taken it from `sys.modules`."""
        return self._modules.loaded.get(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run it once, and have all that it defines sent to Spark's workers by value."""
        from pyspark import cloudpickle

        if self._modules.loaded.get(self.name) is not module:
            _OURS.add(module)
            exec(self._modules.code_of(module, self._text, self.path), module.__dict__)
            cloudpickle.register_pickle_by_value(module)
        # A module that is sent as a whole is sent with these; a worker has no such loader.
        module.__spec__ = module.__loader__ = None  # pyright: ignore[reportAttributeAccessIssue]
        self._modules.loaded[self.name] = module


def _name(file: Path, place: Path) -> str:
    """What a file is imported as from a folder; empty when it is not below it."""
    if not file.is_relative_to(place):
        return ""
    parts = file.relative_to(place).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
