"""The placeholders of labels. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from string import Formatter


def placeholders(label: str) -> set[str]:
    """Return the contents of a label's braces; raise ValueError if the braces do not match."""
    return {
        name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
        for _, name, spec, conversion in Formatter().parse(label)
        if name is not None
    }


def join_placeholders(names: Iterable[str]) -> str:
    """Name placeholders in a sentence."""
    return " and ".join(f"{{{name}}}" for name in sorted(names))
