"""Read tool definitions with the SDKs of Anthropic and Google and with LangChain's, in their own environment.

Standard input has JSON, ``{"anthropic": […], "gemini": […], "strict": […], "mcp": […], "openai": […]}``: definitions in
these formats, and strict schemas. Standard output has the same as the SDKs read it, without the fields that they do not
know: ``mcp`` as Google's SDK converts an MCP server's tools, and ``openai`` as LangChain converts definitions for
Gemini. ``langchain`` has the MCP server's tools again, as LangChain converts its own tools for Gemini, and
``langchain-openai`` as it converts them for OpenAI.
"""

import json
import sys

from anthropic import transform_schema  # type: ignore[import-not-found]
from anthropic.types import ToolParam  # type: ignore[import-not-found]
from google.genai._mcp_utils import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    mcp_to_gemini_tools,
)
from google.genai.types import Tool  # type: ignore[import-not-found,import-untyped,unused-ignore]
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import (
    convert_to_openai_tool,
)
from langchain_google_genai._function_utils import (  # type: ignore[import-not-found]
    convert_to_genai_function_declarations,
)
from mcp.types import Tool as McpTool
from pydantic import TypeAdapter

definitions = json.load(sys.stdin)
tool_param = TypeAdapter(ToolParam)
tool = Tool.model_validate({"functionDeclarations": definitions["gemini"]})


def parameters(tools: list[Tool]) -> list[object]:
    """Return the parameters of the functions as they are sent to Gemini."""
    sent = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    return [each["parameters"] for tool in sent for each in tool["functionDeclarations"]]


# As langchain-mcp-adapters makes them of an MCP server's.
own = [
    StructuredTool(
        name=each["name"],
        description=each["description"],
        args_schema=each["inputSchema"],
        func=print,
    )
    for each in definitions["mcp"]
]
read = {
    "anthropic": [tool_param.validate_python(each) for each in definitions["anthropic"]],
    "gemini": tool.model_dump(by_alias=True, exclude_none=True)["functionDeclarations"],
    "strict": [transform_schema(each) for each in definitions["strict"]],
    "mcp": parameters(
        mcp_to_gemini_tools([McpTool.model_validate(each) for each in definitions["mcp"]])
    ),
    "openai": parameters(convert_to_genai_function_declarations(definitions["openai"])),
    "langchain": parameters(convert_to_genai_function_declarations(own)),
    "langchain-openai": [convert_to_openai_tool(each)["function"]["parameters"] for each in own],
}
json.dump(read, sys.stdout)
