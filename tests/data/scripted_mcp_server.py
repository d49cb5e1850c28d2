"""A server that sends the lines that a notification gives it, and repeats in a notification each line that it gets."""

import json
import sys

for line in sys.stdin.buffer:
    try:
        message = json.loads(line)
    except ValueError:
        message = {}
    if message.get("method") == "_say":
        params = message["params"]
        said = b"".join(each.encode("latin-1") for each in params["lines"])
        if "long" in params:
            said += params["long"].encode() + b"x" * 2**22 + params["end"].encode() + b"\n"
    else:
        said = (
            json.dumps({"method": "_heard", "params": {"line": line.decode("latin-1")}}).encode()
            + b"\n"
        )
    sys.stdout.buffer.write(said)
    sys.stdout.flush()
