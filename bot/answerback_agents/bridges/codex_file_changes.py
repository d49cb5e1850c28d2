"""What Codex would change in files: it announces that (``item/started``), and asks about the item's id alone."""

from __future__ import annotations

from pydantic import JsonValue

Json = dict[str, JsonValue]


class FileChanges:
    """The announced changes that have not been made yet."""

    def __init__(self) -> None:
        self._announced: dict[tuple[str, str], JsonValue] = {}
        """By the ids of their thread and their item."""

    def follow(self, message: Json) -> None:
        """Note what a message from Codex says about a change."""
        match message:
            case {
                "method": "item/started",
                "params": {
                    "threadId": str(thread),
                    "item": {"type": "fileChange", "id": str(item), "changes": list() as changes},
                },
            }:
                self._announced[thread, item] = changes
            case {
                "method": "item/completed",
                "params": {"threadId": str(thread), "item": {"id": str(item)}},
            }:
                self._announced.pop((thread, item), None)
            case {"method": "turn/completed", "params": {"threadId": str(thread)}}:
                for key in [key for key in self._announced if key[0] == thread]:
                    del self._announced[key]
            case _:
                pass

    def describe(self, params: Json) -> Json:
        """Return an approval with the changes that it is about, as far as Codex has announced them."""
        thread, item = params.get("threadId"), params.get("itemId")
        if not isinstance(thread, str) or not isinstance(item, str):
            return params
        changes = self._announced.get((thread, item))
        return params if changes is None or "changes" in params else {**params, "changes": changes}
