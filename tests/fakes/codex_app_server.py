"""A fake ``codex app-server``: sends the messages in its arguments, and reports each message that it reads."""

from __future__ import annotations

import json
import sys

# The messages sent once the client has introduced itself, then one for each further message of the client.
opening, later = json.loads(sys.argv[1]), json.loads(sys.argv[2])
for raw in sys.stdin:
    received = json.loads(raw)
    replies = []
    if received.get("method") == "initialize":
        replies = [{"id": received["id"], "result": {"userAgent": "codex/0.171.0"}}, *opening]
    elif received.get("method") == "turn/interrupt":
        replies = [{"id": received["id"], "result": {}}]
    elif later:
        replies = [later.pop(0)]
    for message in [{"method": "fake/read", "params": received}, *replies]:
        sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        sys.stdout.flush()
    if received.get("method") == "fake/end":
        sys.exit(3)
