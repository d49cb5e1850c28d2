"""Read tool definitions with the SDKs of Anthropic and Google, in their own environment.

Standard input has JSON, ``{"anthropic": […], "gemini": […], "strict": […]}``: definitions in these formats, and strict
schemas. Standard output has the same as the SDKs read it, without the fields that they do not know.
"""

import json
import sys

from anthropic import transform_schema  # type: ignore[import-not-found]
from anthropic.types import ToolParam  # type: ignore[import-not-found]
from google.genai.types import Tool  # type: ignore[import-not-found,import-untyped,unused-ignore]
from pydantic import TypeAdapter

definitions = json.load(sys.stdin)
tool_param = TypeAdapter(ToolParam)
tool = Tool.model_validate({"functionDeclarations": definitions["gemini"]})
read = {
    "anthropic": [tool_param.validate_python(each) for each in definitions["anthropic"]],
    "gemini": tool.model_dump(by_alias=True, exclude_none=True)["functionDeclarations"],
    "strict": [transform_schema(each) for each in definitions["strict"]],
}
json.dump(read, sys.stdout)
