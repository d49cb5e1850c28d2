"""A tool call in a host of your own: hand it over, wait for the person, hand the result to the model."""

import os
import secrets
import sys

from answerback_client import Client, InvalidCallError

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")


class TurnEndedError(Exception):
    """The person ended the turn: the model gets nothing, and the host stops."""


def tool_result(run_id: str, call_id: str, name: str, arguments: dict) -> tuple[str, bool]:
    """The text for the model, and whether it is an error. After a crash, call this again with the same ids."""
    with Client(URL, TOKEN) as answerback:
        try:
            # The same key finds the same ask. A model may use the id of a call again in another run.
            key = f"{run_id}:{call_id}"
            ask = answerback.ask(name, arguments, key=key, tool_call_id=call_id, to="web")
        except InvalidCallError as refused:
            if refused.tool_result is None:
                raise  # not the mistake of the model: an unknown route, for example
            return refused.tool_result.content, True
    if ask.end_turn:
        raise TurnEndedError
    return ask.tool_result.content, ask.tool_result.is_error


if __name__ == "__main__":
    run_id = secrets.token_hex(8)  # stored with the run, which continues with it after a crash
    question = {"question": "Deploy now?", "answer_type": "boolean", "default": False}
    try:
        print(tool_result(run_id, "call_1", "ask_user", question)[0])
    except TurnEndedError:
        sys.exit("The person ended the turn.")
