"""The parts of the documentation, and the JSON Schemas in manifests/, that are generated from the project itself.

`python -m tests.meta.generated_docs` regenerates them. Each part is between two comments on its page,
and each recipe is the block below the link to its file.
"""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

from pydantic import TypeAdapter

from answerback.core import walker
from answerback.core.refusals import Refusal
from answerback.service.ask_wire import AskBody, ToolResult
from tests.documentation.blocks import PAGES, blocks
from tests.hosts import cells
from tests.meta.project import RECIPES, ROOT


def layers() -> str:
    """Return the packages in the order that import-linter enforces, from the top down."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    contract = next(contract for contract in contracts if contract["type"] == "layers")
    rows = [layer.replace("(", "").replace(")", "") for layer in contract["layers"]]
    return "\n".join(["```text", *rows, "```"])


def transitions() -> str:
    """Build the walker's table: what each action does in each phase."""
    phases = {phase: str(phase) for phase in walker.Phase if phase in walker.OPEN_PHASES}
    phases |= {_ENDED: "ended"}
    header = f"| action | {' | '.join(phases.values())} |"
    rows = [
        f"| `{action.action}` | {' | '.join(_outcome(walker.TRANSITIONS[p][action]) for p in phases)} |"
        for action in walker.TRANSITIONS[_ENDED]
    ]
    return "\n".join([header, "|---" * (1 + len(phases)) + "|", *rows])


def _outcome(transition: object) -> str:
    return f"`{transition.code}`" if isinstance(transition, Refusal) else "accepted"


DOCS = ROOT / "docs"
_ENDED = walker.Phase.ANSWERED
"""The column for all phases of an ended walk, in which nothing is possible."""
PARTS: dict[str, tuple[Path, Callable[[], str]]] = {
    "actions": (DOCS / "api.md", transitions),
    "layers": (DOCS / "architecture.md", layers),
    "hosts": (DOCS / "permission-prompts.md", cells.table),
}


SCHEMAS: dict[Path, type[object]] = {
    ROOT / "manifests" / "ask.json": AskBody,
    ROOT / "manifests" / "result.json": ToolResult,
}
"""The JSON Schema files of an ask and of a tool result, for people who build on them."""


def schema(model: type[object]) -> str:
    """Return the text of a model's JSON Schema file."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    whole = dialect | TypeAdapter(model).json_schema()
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def read_part(name: str) -> str:
    """Return a part as it is on its page."""
    page, _ = PARTS[name]
    return page.read_text("utf-8").partition(_begin(name))[2].partition(_end(name))[0]


def write(name: str) -> None:
    """Regenerate a part."""
    page, make = PARTS[name]
    old = _begin(name) + read_part(name) + _end(name)
    new = _begin(name) + make() + _end(name)
    page.write_text(page.read_text("utf-8").replace(old, new), encoding="utf-8")


def write_recipes() -> None:
    """Put the text of each file of docs/recipes into the block below the link to it."""
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        for block in blocks(page):
            if block.recipe is not None:
                text = text.replace(
                    f"```{block.language}\n{block.text}```",
                    f"```{block.language}\n{(RECIPES / block.recipe).read_text('utf-8')}```",
                )
        (ROOT / page).write_text(text, "utf-8")


def _begin(name: str) -> str:
    return f"<!-- {name} -->\n\n"


def _end(name: str) -> str:
    return f"\n\n<!-- end of {name} -->\n"


if __name__ == "__main__":
    for part in PARTS:
        write(part)
    write_recipes()
    for file, described in SCHEMAS.items():
        file.write_text(schema(described), encoding="utf-8")
