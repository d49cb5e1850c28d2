"""The placeholders of labels. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from string import Formatter


def _placeholders(label: str) -> set[str]:
    """Return the contents of a label's braces; raise ValueError if the braces do not match."""
    return {
        name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
        for _, name, spec, conversion in Formatter().parse(label)
        if name is not None
    }


def _join(names: Iterable[str]) -> str:
    """Name placeholders in a sentence."""
    return " and ".join(f"{{{name}}}" for name in sorted(names))


def check_label(label: str, default: str) -> str:
    """Return a configured label if it can stand for the default one.

    Raises:
        ValueError: it is blank, or has placeholders that the default has not.
    """
    if not label.strip():
        raise ValueError("a label must not be blank: give it a text, or leave it out")
    known = _placeholders(default)
    try:
        unknown = sorted(_placeholders(label) - known)
    except ValueError:
        if not known:
            return label  # no placeholders: a brace is just a brace
        raise ValueError("it has an unmatched brace; write {{ or }} for a literal brace") from None
    if unknown:
        allowed = f"can only contain {_join(known)}" if known else "takes no placeholders"
        raise ValueError(f"it contains {_join(unknown)}, but {allowed}")
    return label
