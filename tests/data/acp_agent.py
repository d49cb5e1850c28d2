"""An agent that says over ACP what its prompts tell it to, and repeats in a notification each line that it hears."""

import json
import os
import sys


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "session/prompt":
            for each in message["params"]["say"]:
                say(json.dumps(each))
            if "prompt" in message["params"]:
                say(json.dumps({"method": "_prompted", "params": message["params"]}))
        case "_exit":
            sys.exit(message["params"]["status"])
        case "_signal":
            os.kill(os.getpid(), message["params"]["number"])
        case _:
            say(json.dumps({"method": "_heard", "params": {"line": line}}))
