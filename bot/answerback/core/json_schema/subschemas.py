"""Where the schemas in a JSON Schema are, as opposed to data and notes; pure.

Owns the table of keywords that hold schemas, in every draft that is read. What `enum`, `const`,
`default` and `examples` hold is data, whatever it looks like.
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
"""Keywords whose schemas apply to the very same value, not to a part of it."""
DEFINITIONS: Final = frozenset({"$defs", "definitions"})
"""Keywords whose schemas apply only where something refers to them."""
_BY_NAME: Final = DEFINITIONS | {
    "properties", "patternProperties", "dependentSchemas", "dependencies",
}  # fmt: skip
"""Keywords that hold schemas by names, which are not keywords whatever they are called."""
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_SINGLE: Final = frozenset(
    {
        "not", "if", "then", "else", "items", "additionalItems", "unevaluatedItems", "contains",
        "additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema",
    }
)  # fmt: skip


def children(node: Mapping[str, object]) -> Iterator[tuple[str, list[object]]]:
    """The keywords of a schema that hold schemas, each with these."""
    for word, held in node.items():
        if word in _BY_NAME and isinstance(held, Mapping):
            yield word, list(held.values())
        elif word in _LISTS and isinstance(held, list):
            yield word, held
        elif word in _SINGLE:
            yield word, [held]


def reference_targets(root: object, node: Mapping[str, object]) -> Iterator[object]:
    """What a schema refers to by pointers into ``root``; None for a pointer that leads nowhere."""
    for word in REFERENCES:
        target = node.get(word)
        if isinstance(target, str):
            yield _at(root, target)


def walk(root: object) -> Iterator[Mapping[str, object]]:
    """Every schema in ``root`` that is an object, once, also where only a reference makes it one."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping) and id(node) not in seen:
            seen.add(id(node))
            yield node
            stack.extend(reference_targets(root, node))
            for _, held in children(node):
                stack.extend(held)


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
