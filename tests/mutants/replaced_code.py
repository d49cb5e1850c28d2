"""The changed source of a module put into a process that has imported it, so that no test is collected anew."""

from __future__ import annotations

import gc
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final, TypeAlias

Place: TypeAlias = tuple[str, str, int]
"""Where code stands: its file, its qualified name and its first line."""
Functions: TypeAlias = Mapping[Place, Sequence[FunctionType]]

_OWN: Final = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags")
"""The parts of the code of a module or a class, besides its constants, among which are its functions."""


class CannotReplaceError(Exception):
    """The change has an effect only in a process that imports the module, because it is not within a function."""


def functions_of(folders: Sequence[Path]) -> Functions:
    """Return all functions whose code is in these folders, those that decorators and other functions have made, too."""
    beginnings = tuple(f"{folder}/" for folder in folders)
    found: defaultdict[Place, list[FunctionType]] = defaultdict(list)
    gc.unfreeze()  # what is frozen is not listed
    for each in gc.get_objects():
        # Not isinstance: it asks proxies for their class.
        if type(each) is FunctionType and each.__code__.co_filename.startswith(beginnings):
            found[_place(each.__code__)].append(each)
    gc.freeze()
    return found


def replace_code(file: Path, before: str, after: str, functions: Functions) -> None:
    """Give the functions of a module the code that they have with its source changed from one text to another.

    Raises:
        CannotReplaceError: something else than functions would change, or the module is not imported yet.
    """
    if all(getattr(each, "__file__", None) != str(file) for each in [*sys.modules.values()]):
        raise CannotReplaceError
    old, new = (compile(text, str(file), "exec", dont_inherit=True) for text in (before, after))
    for old_code, new_code in _changed(old, new, functions):
        for function in functions[_place(old_code)]:
            # Two functions of one line can have the same name, as lambdas have.
            if function.__code__ == old_code:
                try:
                    function.__code__ = new_code
                except ValueError as error:  # it uses other variables of the functions around it
                    raise CannotReplaceError from error


def _changed(
    old: CodeType, new: CodeType, functions: Functions, *, in_function: bool = False
) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the code of each function that changes, and what it changes to."""
    if old == new:
        return
    if _place(old) in functions:
        in_function = True
        yield old, new
    if not in_function and _own(old) != _own(new):
        raise CannotReplaceError
    inner, others = _inner(old), _inner(new)
    if len(inner) == len(others):
        for each, other in zip(inner, others, strict=True):
            yield from _changed(each, other, functions, in_function=in_function)
    elif not in_function:
        raise CannotReplaceError


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _inner(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _own(code: CodeType) -> list[object]:
    constants = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
    return [constants, *(getattr(code, name) for name in _OWN)]
