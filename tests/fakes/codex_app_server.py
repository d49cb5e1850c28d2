"""A fake ``codex app-server``: asks what its arguments say, and tells its client what it reads."""

from __future__ import annotations

import json
import sys

# What it sends once its client has introduced itself, then what it sends after each further message.
opening, later = json.loads(sys.argv[1]), json.loads(sys.argv[2])
for raw in sys.stdin:
    said = json.loads(raw)
    sending = []
    if said.get("method") == "initialize":
        sending = [{"id": said["id"], "result": {"userAgent": "codex/0.169.0"}}, *opening]
    elif said.get("method") == "turn/interrupt":
        sending = [{"id": said["id"], "result": {}}]
    elif later:
        sending = [later.pop(0)]
    for message in [{"method": "fake/read", "params": said}, *sending]:
        sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        sys.stdout.flush()
    if said.get("method") == "fake/end":
        sys.exit(3)
