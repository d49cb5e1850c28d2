"""Building blocks for the schemas of the tools' arguments.

They keep to what the SDKs and converters of all providers accept: each schema has a single ``type``, or only ``anyOf``,
whose alternatives have the descriptions. No object has ``additionalProperties``, or no properties. What may be null is
one alternative, `nullable_schema`.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from pydantic import JsonValue

Schema: TypeAlias = dict[str, JsonValue]
TEXT: Final[Schema] = {"type": "string", "minLength": 1, "maxLength": 20_000}
LABEL: Final[Schema] = {"type": "string", "minLength": 1, "maxLength": 1_000}


NULL: Final[Schema] = {"type": "null"}


def nullable_schema(schema: Schema) -> Schema:
    """Return the schema of a value that may be null.

    Converters for Gemini make a nullable type of exactly this. Beside several types they leave null without a type, or
    lose the others, and Gemini's API refuses a list of types.
    """
    return {"anyOf": [schema, NULL]}


def with_description(schema: Schema, description: str) -> Schema:
    """Return a schema with a description for the model."""
    return {**schema, "description": description}


def object_schema(properties: dict[str, JsonValue], *required: str) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def array_schema(
    items: JsonValue, description: str, min_items: int = 1, max_items: int = 100
) -> Schema:
    """Return the schema of an array, with a description for the model."""
    return {
        "type": "array",
        "items": items,
        "minItems": min_items,
        "maxItems": max_items,
        "description": description,
    }


def flag_schema(description: str, **default: bool) -> Schema:
    """Return the schema of a flag, perhaps with a ``default``, with a description for the model."""
    return {"type": "boolean", **default, "description": description}


QUESTION_TEXT: Final = with_description(TEXT, "The question, as the user reads it.")
IN_ORDER: Final = "The questions, in the order in which they are asked."
CONTEXT: Final = with_description(
    TEXT, "What the user needs to know to decide; shown with the question."
)
ANY_OBJECT: Final[Schema] = {"type": "object", "properties": {"type": {"type": "string"}}}
"""An object with more properties than are listed."""
JSON_SCHEMA: Final[Schema] = {
    **ANY_OBJECT,
    "description": "Only for schema: the JSON Schema of the answer, with any of its keywords. A flat object becomes a "
    "form of input fields.",
}
KEY: Final = with_description(LABEL, "The key of this question's answer; unique.")
HEADER: Final = with_description(LABEL, "A very short title for it.")
CHOICE_LABEL: Final = with_description(LABEL, "The choice in a few words; must be unique.")
MEANING: Final = "What choosing it means."
MULTIPLE: Final = flag_schema("Whether several may be chosen.")
LABELLED: Final = object_schema(
    {"label": CHOICE_LABEL, "description": with_description(TEXT, MEANING)}, "label"
)
NO_OTHER: Final = "The choices. Do not add an Other: it is always offered."


def options_schema(
    option: Schema, description: str = NO_OTHER, min_items: int = 0, max_items: int = 1_000
) -> Schema:
    return array_schema(option, description, min_items, max_items)


def questions_schema(
    question: dict[str, JsonValue],
    *required: str,
    description: str = IN_ORDER,
    max_items: int = 100,
) -> Schema:
    listed = array_schema(object_schema(question, *required), description, max_items=max_items)
    return object_schema({"questions": listed}, "questions")


OR_FREE_TEXT: Final = options_schema(
    LABELLED,
    "The choices; none for a free-text answer. Do not add an Other: it is always offered.",
)
SUGGESTIONS: Final = options_schema(LABEL)
