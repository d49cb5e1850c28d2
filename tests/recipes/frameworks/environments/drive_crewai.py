"""Run the recipe for CrewAI with a scripted model, in CrewAI's own environment, as instructed line by line.

Each line of standard input is a JSON array: ``["begin"]``, ``["begin_again", FLOW]`` or ``["go_on", FLOW, ASK]``. So is
each line of standard output, with the result: ``["ok", …]`` or ``["error", NAME, WORDS]``. Usage: drive_crewai.py
RECIPES DATABASE.
"""

import json
import os
import sys
from typing import Any

results = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # CrewAI prints its progress on standard output

recipes, database = sys.argv[1:]
sys.path.insert(0, recipes)

from crewai import BaseLLM  # noqa: E402

sys.dont_write_bytecode = True  # leave no files next to the recipes
import crewai_feedback  # type: ignore[import-not-found] # noqa: E402


class Scripted(BaseLLM):  # type: ignore[misc]
    """A model that always says the same."""

    def call(self, messages: object, *args: object, **kwargs: object) -> str:
        return "Faster, and fewer bugs."


def tell(*result: object) -> None:
    print(json.dumps(result), file=results, flush=True)


def begin_again(flow: Any, store: object, flow_id: str) -> str:
    """Run a flow that has ended up to its question once more; return the ask's id."""
    pending = flow(persistence=store).kickoff(inputs={"id": flow_id})
    return str(pending.callback_info["ask_id"])


store = crewai_feedback.SQLiteFlowPersistence(database)
notes = crewai_feedback.notes_flow(Scripted(model="scripted"))
tell("ready")
for line in sys.stdin:
    what, *arguments = json.loads(line)
    try:
        function = begin_again if what == "begin_again" else getattr(crewai_feedback, what)
        tell("ok", function(notes, store, *arguments))
    except Exception as error:  # noqa: BLE001 # the test gets whatever it is
        tell("error", type(error).__name__, str(error))
