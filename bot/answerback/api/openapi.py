"""The OpenAPI 3.1 document, generated from the table of operations and the wire models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final, cast

from pydantic import JsonValue, TypeAdapter

from answerback.api import wire
from answerback.api.operation import BAD, NOT_FOUND, NOT_JSON, TOO_LARGE, TOO_SLOW, Call
from answerback.api.problems import PROBLEM_JSON
from answerback.ports.operation import SURFACE_ONLY, Operation, ResponseSpec
from answerback.service.ask_wire import AskBody

_REF: Final = "#/components/schemas/{model}"
_LASTING_NAMES: Final = {
    "answerback_receipts__bodies__LinkBody": "answerback__service__receipts__LinkBody",
    "answerback_teams__link_operations__LinkBody": "answerback__api__account_links__LinkBody",
}
"""The lasting names of models that are called alike, whose modules tell them apart: generated clients keep the names
when one moves."""
_ALWAYS: Final = {
    403: ResponseSpec(
        "The caller may not do this: it is a page of another origin, or its token has another role."
    ),
    500: ResponseSpec(
        "An internal error, reported without details; or a stored ask that cannot be read."
    ),
    503: ResponseSpec(
        'The database failed and nothing was changed; titled "Outcome unknown", the change may have been saved.'
    ),
}


def document(
    operations: Sequence[Operation[Call]], version: str, *, tokens: bool
) -> dict[str, JsonValue]:
    """Build the OpenAPI document of these operations.

    Args:
        tokens: whether the service requires bearer tokens.
    """
    paths: dict[str, dict[str, JsonValue]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(
            operation, tokens
        )
    components: dict[str, JsonValue] = {
        "schemas": _schemas(operations),
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    }
    described: dict[str, JsonValue] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Answerback",
            "version": version,
            "description": "A tool call in, a person's typed answers out.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "paths": dict[str, JsonValue](paths),
        "components": components,
    }
    return cast("dict[str, JsonValue]", _with_lasting_names(described))


def _with_lasting_names(value: JsonValue) -> JsonValue:
    """Return a part of the document with the schemas' lasting names, as keys and in references."""
    match value:
        case dict():
            return {
                _LASTING_NAMES.get(key, key): _with_lasting_names(each)
                for key, each in value.items()
            }
        case list():
            return [_with_lasting_names(each) for each in value]
        case str() if value.startswith(_REF.format(model="")):
            name = value.removeprefix(_REF.format(model=""))
            return _REF.format(model=_LASTING_NAMES.get(name, name))
        case _:
            return value


def _operation(operation: Operation[Call], tokens: bool) -> dict[str, JsonValue]:
    # Acting requires a person's key even if agents need no token.
    protected = operation.roles is not None and (tokens or operation.roles == SURFACE_ONLY)
    spec: dict[str, JsonValue] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": _parameters(operation),
        "responses": _responses(operation, protected),
    }
    text = [operation.description] if operation.description else []
    if protected and operation.roles:
        if tokens:
            text.append("Roles: " + ", ".join(sorted(operation.roles)) + ".")
        spec["security"] = [{"token": []}]
    if text:
        spec["description"] = " ".join(text)
    if operation.body is not None:
        content: dict[str, JsonValue] = {"schema": _reference(operation.body)}
        if operation.example is not None:
            content["example"] = operation.example
        required = not operation.is_body_optional
        spec["requestBody"] = {"required": required, "content": {"application/json": content}}
    if operation.body_media is not None:
        of_bytes: dict[str, JsonValue] = {"schema": {"type": "string", "format": "binary"}}
        spec["requestBody"] = {"required": True, "content": {operation.body_media: of_bytes}}
    return spec


def _parameters(operation: Operation[Call]) -> list[JsonValue]:
    parameters: list[JsonValue] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1},
        }
        for name in re.findall(r"\{(\w+)\}", operation.path)
    ]
    if operation.query is not None:
        properties = operation.query.model_json_schema(ref_template=_REF)["properties"]
        for name, schema in properties.items():
            text = schema.pop("description", "")
            schema.pop("title", None)
            parameters.append(
                {"name": name, "in": "query", "description": text, "schema": _not_null(schema)}
            )
    parameters.extend(
        {
            "name": header.name,
            "in": "header",
            "description": header.description,
            "schema": dict(header.schema),
        }
        for header in operation.headers
    )
    return parameters


def _not_null(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Drop null from a parameter's schema: an optional parameter is left out, never sent as null."""
    options = schema.get("anyOf")
    if not isinstance(options, list):
        return schema
    kept = [
        option for option in options if isinstance(option, dict) and option.get("type") != "null"
    ]
    return kept[0] if len(kept) == 1 else {"anyOf": list[JsonValue](kept)}


def _responses(operation: Operation[Call], protected: bool) -> dict[str, JsonValue]:
    replies = dict(_ALWAYS)
    if protected:
        replies[401] = ResponseSpec("The token or key is missing or unknown.")
    if operation.roles is not None or operation.query is not None:
        replies[400] = BAD
    if operation.body is not None:
        replies |= {408: TOO_SLOW, 413: TOO_LARGE, 415: NOT_JSON}
    if "{id}" in operation.path:
        replies[404] = NOT_FOUND
    replies |= operation.replies
    responses: dict[str, JsonValue] = {}
    for status in sorted(replies):
        response = _response(status, replies[status])
        if operation.links and status < HTTPStatus.MULTIPLE_CHOICES:
            response["links"] = {
                name: {"operationId": name, "parameters": {"id": "$response.body#/id"}}
                for name in operation.links
            }
        responses[str(status)] = response
    return responses


def _response(status: int, reply: ResponseSpec) -> dict[str, JsonValue]:
    spec: dict[str, JsonValue] = {"description": reply.description}
    if reply.headers:
        spec["headers"] = {
            name: {"description": text, "schema": {"type": "string"}}
            for name, text in reply.headers.items()
        }
    failed = status >= HTTPStatus.BAD_REQUEST
    if (model := reply.model or (wire.ProblemBody if failed else None)) is not None:
        media = PROBLEM_JSON if failed and model is not AskBody else reply.media
        spec["content"] = {media: {"schema": _reference(model)}}
    elif status != HTTPStatus.NO_CONTENT:
        spec["content"] = {reply.media: {"schema": {"type": "string"}}}
    return spec


def _reference(model: type[object]) -> dict[str, JsonValue]:
    return {"$ref": _REF.format(model=model.__name__)}


def _schemas(operations: Sequence[Operation[Call]]) -> dict[str, JsonValue]:
    models = dict.fromkeys(_models(operations))
    _, schema = TypeAdapter.json_schemas(
        [(model.__name__, "validation", TypeAdapter(model)) for model in models],
        ref_template=_REF,
    )
    found: Mapping[str, JsonValue] = schema["$defs"]
    names = sorted(found, key=lambda name: _LASTING_NAMES.get(name, name))
    schemas = {name: found[name] for name in names}
    # Query models are spec as parameters; the types they refer to (such as enums) belong here.
    for operation in operations:
        if operation.query is not None:
            inner = operation.query.model_json_schema(ref_template=_REF)
            schemas = {**inner.get("$defs", {}), **schemas}
    return dict(schemas)


def _models(operations: Sequence[Operation[Call]]) -> list[type[object]]:
    models: list[type[object]] = [wire.ProblemBody]
    for operation in operations:
        models += [operation.body] if operation.body else []
        models += [reply.model for reply in operation.replies.values() if reply.model]
    return models
