"""The table of labels in docs/operations.md, made from the labels themselves.

`python -m tests.meta.labels_table` writes it anew.
"""

from bot.labels import Labels
from tests.meta.project import ROOT

PAGE = ROOT / "docs" / "operations.md"
_BEGIN, _END = "<!-- labels -->\n", "<!-- end of labels -->\n"


def in_page() -> str:
    """The table as the page has it."""
    return PAGE.read_text("utf-8").partition(_BEGIN)[2].partition(_END)[0]


def table() -> str:
    """The table as it has to be."""
    rows = [f"| `labels.{name}` | {field.default} |" for name, field in Labels.model_fields.items()]
    return "\n".join(["", "| key | default |", "|---|---|", *rows, "", ""])


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text("utf-8").replace(in_page(), table()), encoding="utf-8")
