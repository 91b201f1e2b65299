"""
Records: named tuples that take little time to define.

`NamedTuple` is used as that of `typing`, for which type checkers take it. That one compiles a constructor and each annotation of
a class when the class is defined, which is a quarter of the time that it takes to import this mock. This one makes the
constructor at the first record of its class, from one that is compiled once for each number of fields. It compiles no
annotation: they stay texts, which `typing.get_type_hints` reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import namedtuple
    from functools import cache
    from types import FunctionType

    _FIELDS_MAX = 40
    _AT = namedtuple("_AT", [f"at_{place}" for place in range(_FIELDS_MAX)])
    _GETTERS = [vars(_AT)[name] for name in _AT._fields]  # what reads each place of any tuple

    class _Definition(type):
        """Defines a class of records from what the body of its statement has defined."""

        def __new__(cls, name, bases, namespace):
            """Return the class: a plain one, whose only base is `tuple`."""
            fields = tuple(namespace.get("__annotations__", ()))
            if "__annotations__" not in namespace and {"__annotate__", "__annotate_func__"} & set(namespace):
                # Python 3.14 keeps them in a function, where the module does not ask for texts.
                raise TypeError(f"got the record {name} without `from __future__ import annotations`; expected it")
            defaults = {field: namespace[field] for field in fields if field in namespace}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"got {name} with a field after one that has a default; expected those at the end")
            namespace |= zip(fields, _GETTERS[: len(fields)], strict=True)
            namespace |= {"__slots__": (), "__match_args__": fields, "_fields": fields, "_field_defaults": defaults}
            namespace["__new__"] = lambda *values, **named: _constructor(record)(*values, **named)
            namespace["__signature__"] = _SIGNATURE
            record = type(name, (tuple,), {**_METHODS, **namespace})
            return record

    def _constructor(record):
        """Return the constructor of a class, and set it in place of the one that makes it."""
        code = _code(len(record._fields)).replace(co_varnames=("_cls", *record._fields))
        constructor = FunctionType(code, {"_new": tuple.__new__}, argdefs=tuple(record._field_defaults.values()))
        constructor.__annotations__ = record.__annotations__
        constructor.__name__, constructor.__qualname__ = "__new__", f"{record.__qualname__}.__new__"
        record.__new__ = staticmethod(constructor)
        return constructor

    @cache
    def _code(count):
        """Return the code of a constructor with this number of fields, whose names are replaced."""
        names = "".join(f"field_{place}, " for place in range(count))
        return eval(f"lambda _cls, {names}: _new(_cls, ({names}))").__code__

    class _Signature:
        """The parameters of a class's constructor, for tools that show them."""

        def __get__(self, record, owner):
            import inspect

            # Not of a subclass, which may have one of its own.
            _constructor(next(each for each in owner.__mro__ if "_fields" in vars(each)))
            return inspect.Signature([*inspect.signature(owner.__new__).parameters.values()][1:])

    def _make(cls, iterable):
        """Return a record of the values, one for each field."""
        made = tuple.__new__(cls, iterable)
        if len(made) != len(cls._fields):
            raise TypeError(f"got {len(made)} values; expected {len(cls._fields)}")
        return made

    def _replace(self, /, **values):
        """Return the record with other values of some fields."""
        replaced = self._make(map(values.pop, self._fields, self))
        if values:
            raise ValueError(f"got {', '.join(values)}; expected fields of {type(self).__name__}")
        return replaced

    def _asdict(self):
        """Return the values by the names of the fields."""
        return dict(zip(self._fields, self, strict=True))

    def _repr(self):
        values = ", ".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({values})"

    _SIGNATURE = _Signature()
    _METHODS = {
        "_make": classmethod(_make),
        "_replace": _replace,
        "__replace__": _replace,
        "_asdict": _asdict,
        "__repr__": _repr,
        "__getnewargs__": lambda self: tuple(self),
    }
    NamedTuple = type.__new__(_Definition, "NamedTuple", (), {})
