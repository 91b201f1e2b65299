"""
The entry point that `import hypothesis` runs: it registers record types of the mock for `st.from_type`.

It imports nothing else of the mock: a type is registered when its module is imported, and its strategy is loaded at its
first use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

# By module its types, each with the maker of its records and what that is to make.
_TYPES = {
    "mockserver.core.state.records": {
        "Chat": ("seeded", "chats"),
        "Template": ("seeded", "templates"),
        "Entrypoint": ("seeded", "entrypoints"),
        "Funnel": ("seeded", "funnels"),
        "Form": ("seeded", "forms"),
        "Webhook": ("seeded", "webhooks"),
        "Campaign": ("called", "campaign"),
        "Execution": ("called", "execution"),
        "Session": ("called", "session"),
    },
    "mockserver.core.state.tenant": {"Tenant": ("tenants", "")},
}


def register() -> None:
    """Let `st.from_type` draw records as a sandbox contains them."""
    for name in _TYPES:
        if name in sys.modules:
            _register(sys.modules[name])
    if not all(name in sys.modules for name in _TYPES):
        sys.meta_path.insert(0, _Waiting())


def _register(module: ModuleType) -> None:
    from hypothesis import strategies as st

    for name, made in _TYPES[module.__name__].items():
        st.register_type_strategy(getattr(module, name), _lazily(*made))


def _lazily(maker: str, what: str) -> Callable[[Any], SearchStrategy[Any]]:
    def strategy(_: Any) -> SearchStrategy[Any]:
        from mockserver.testing.strategies import record_types

        return record_types.MAKERS[maker](what)

    return strategy


class _Waiting:
    """A finder that leads to the modules of the types as all others do, and has their types registered once they are loaded."""

    def __init__(self) -> None:
        self._asking = ""  # the module for which it asks the others

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name not in _TYPES or name == self._asking:
            return None
        self._asking = name
        spec = find_spec(name)
        self._asking = ""
        if spec is not None and spec.loader is not None:
            spec.loader = _Registering(spec.loader)
        return spec


class _Registering(Loader):
    """A module's own loader, and then the registration of what it has loaded."""

    def __init__(self, own: Loader) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._own
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        self._own.exec_module(module)
        _register(module)
