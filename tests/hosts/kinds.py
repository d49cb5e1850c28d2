"""The kinds of prompts of agents' hosts: a deed for each, and how to see whether it was done."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from tests.agents.model import Model


class Kind(StrEnum):
    """A kind of prompt."""

    SHELL = "command"
    EDIT = "edit"
    NEW_FILE = "new file"
    READ = "read outside"
    FETCH = "fetch"
    MCP_TOOL = "MCP tool"
    PLAN = "plan"
    QUESTION = "question"
    FORM = "elicitation, form"
    URL = "elicitation, link"
    WORDS = "words with an allow"
    NOBODY = "nobody answers"


ACTIONS = (Kind.SHELL, Kind.EDIT, Kind.NEW_FILE, Kind.READ, Kind.FETCH, Kind.MCP_TOOL)
"""Those that do something that can be seen from outside."""


@dataclass
class Visits:
    """A web server, and how often something connected to it."""

    address: str = ""
    count: int = 0


@dataclass
class Deed:
    """Something to do, at a place of its own."""

    kind: Kind
    folder: Path
    """The project."""
    visits: Visits
    """A server of its own, to fetch from."""
    name: str = field(default_factory=lambda: secrets.token_hex(4))

    def __post_init__(self) -> None:
        """Make what the deed is about."""
        if self.kind is Kind.EDIT:
            self.file.write_text("one\n")
        if self.kind is Kind.READ:
            self.secret.parent.mkdir(exist_ok=True)
            self.secret.write_text(f"SECRET-{self.name}")

    @property
    def file(self) -> Path:
        """The file that a command, an edit or a tool changes."""
        return self.folder / f"{self.name}.txt"

    @property
    def secret(self) -> Path:
        """A file outside the project."""
        return self.folder.parent / "private" / f"{self.name}.key"

    @property
    def url(self) -> str:
        """An address to fetch."""
        return f"{self.visits.address}/{self.name}"

    @property
    def command(self) -> str:
        """A command of 300 characters whose effect is at its end."""
        danger = f" && touch {self.file}"
        padding = "echo preparing the workspace for the nightly build of the whole project"
        return padding.ljust(300 - len(danger), "-") + danger

    @property
    def text(self) -> str:
        """The text that is written."""
        return f"content of {self.name}"

    def shown(self) -> tuple[str, ...]:
        """Return the texts that people must have seen before they decide."""
        match self.kind:
            case Kind.SHELL:
                return (self.command,)
            case Kind.EDIT:
                return (self.file.name, "-one", "+two")
            case Kind.NEW_FILE:
                return (self.file.name, self.text)
            case Kind.READ:
                return (str(self.secret),)
            case Kind.FETCH:
                return (self.url,)
            case _:
                return (str(self.file), self.text)

    def is_done(self, model: Model) -> bool:
        """Return True if it happened."""
        match self.kind:
            case Kind.SHELL:
                return self.file.exists()
            case Kind.EDIT:
                return self.file.read_text() == "two\n"
            case Kind.READ:
                return any(f"SECRET-{self.name}" in str(each) for each in model.requests)
            case Kind.FETCH:
                return self.visits.count > 0
            case _:
                return self.file.exists() and self.file.read_text().strip() == self.text
