"""A pi in its RPC mode, as its documentation describes it: asks for the dialogs of its first argument.

It answers `get_state`, and repeats in a record of its own every other record that it reads.
"""

import json
import sys


def say(record: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    record = json.loads(line)
    if record["type"] == "get_state":
        about = {"id": record["id"], "type": "response", "command": "get_state", "success": True}
        say({**about, "data": {"sessionId": "s1", "isStreaming": False}})
        for dialog in json.loads(sys.argv[1]):
            say({"type": "extension_ui_request", **dialog})
    else:
        say({"type": "fake_read", "record": record})
