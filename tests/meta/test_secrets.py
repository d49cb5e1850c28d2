"""No secret is part of an object's description, which a log or an error may contain."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.meta.project import ROOT, SOURCE_FOLDERS, sources, tree

_NAME = re.compile(r"(^|_)(auth|passwords?|secrets?|tokens?)$")
_VALUE = re.compile(r"\b(str|bytes)\b")
_FUNCTION = re.compile(r"\bCallable\b")


@pytest.mark.parametrize("folder", SOURCE_FOLDERS)
def test_no_description_contains_a_secret(folder: str) -> None:
    shown = [
        f"{path.relative_to(ROOT)}:{field.lineno} {ast.unparse(field)}"
        for path in sources(folder)
        for field in shown_secrets(tree(path))
    ]
    assert shown == [], "Use field(repr=False) in a dataclass."


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("@dataclass\nclass A:\n    token: str | None = None", 1),
        ("@dataclass(frozen=True)\nclass A:\n    _client_secret: bytes", 1),
        ("@dataclass\nclass A:\n    secrets: Mapping[str, str] = field(default_factory=dict)", 1),
        ("class A(NamedTuple):\n    token: str", 1),
        ("@dataclass\nclass A:\n    token: str = field(repr=False)", 0),
        ("@dataclass(repr=False)\nclass A:\n    token: str", 0),
        ("@dataclass\nclass A:\n    tokens: bool\n    secret: Callable[[], bytes]", 0),
        ("class A(Wire):\n    token: str", 0),
    ],
)
def test_a_secret_in_a_description_is_found(source: str, count: int) -> None:
    assert len(list(shown_secrets(ast.parse(source)))) == count


def shown_secrets(module: ast.Module) -> Iterator[ast.AnnAssign]:
    """The fields of dataclasses and named tuples that hold a secret and are part of the description."""
    for each in ast.walk(module):
        if isinstance(each, ast.ClassDef) and _describes_fields(each):
            for field in each.body:
                if isinstance(field, ast.AnnAssign) and _shows_secret(field):
                    yield field


def _describes_fields(definition: ast.ClassDef) -> bool:
    decorators = [ast.unparse(each) for each in definition.decorator_list]
    dataclass = [each for each in decorators if re.match(r"(\w+\.)?dataclass\b", each)]
    return any("repr=False" not in each for each in dataclass) or any(
        ast.unparse(base) == "NamedTuple" for base in definition.bases
    )


def _shows_secret(field: ast.AnnAssign) -> bool:
    if field.value is not None and "repr=False" in ast.unparse(field.value):
        return False
    annotation = ast.unparse(field.annotation)
    is_value = _VALUE.search(annotation) and not _FUNCTION.search(annotation)
    return bool(is_value and _NAME.search(ast.unparse(field.target)))
