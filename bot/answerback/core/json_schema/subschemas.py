"""Find the subschemas of a JSON Schema, as opposed to data and annotations. Pure.

Owns the table of keywords that contain schemas, for every supported draft. The values of `enum`, `const`, `default`
and `examples` are data, even if they look like schemas.
https://json-schema.org/draft/2020-12/json-schema-core#section-10
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
IN_PLACE_APPLICATORS: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)
"""Keywords whose schemas apply to the same value, not to a part of it."""
DEFINITIONS: Final = frozenset({"$defs", "definitions"})
"""Keywords whose schemas apply only through references."""
_BY_NAME: Final = DEFINITIONS | {
    "properties", "patternProperties", "dependentSchemas", "dependencies",
}  # fmt: skip
"""Keywords that contain schemas by name; the names are not keywords, even if they look like some."""
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_SINGLE: Final = frozenset(
    {
        "not", "if", "then", "else", "items", "additionalItems", "unevaluatedItems", "contains",
        "additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema",
    }
)  # fmt: skip


def children(node: Mapping[str, object]) -> Iterator[tuple[str, list[object]]]:
    """Yield the keywords of a schema that contain schemas, each with its schemas."""
    for keyword, content in node.items():
        if keyword in _BY_NAME and isinstance(content, Mapping):
            yield keyword, list(content.values())
        elif keyword in _LISTS and isinstance(content, list):
            yield keyword, content
        elif keyword in _SINGLE:
            yield keyword, [content]


def reference_targets(root: object, node: Mapping[str, object]) -> Iterator[object]:
    """Yield the targets of a schema's references, which are pointers into ``root``; None for a dangling pointer."""
    for keyword in REFERENCES:
        target = node.get(keyword)
        if isinstance(target, str):
            yield _at(root, target)


def walk(root: object) -> Iterator[Mapping[str, object]]:
    """Yield every schema in ``root`` that is an object, once, including those reached only by a reference."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping) and id(node) not in seen:
            seen.add(id(node))
            yield node
            stack.extend(reference_targets(root, node))
            for _, subnodes in children(node):
                stack.extend(subnodes)


def _at(root: object, reference: str) -> object:
    node = root
    for part in unquote(reference[1:]).split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(part)
        elif isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        else:
            return None
    return node
