"""A value for each setting of Discord that is not the default, as an environment variable has it."""

from typing import Final

SAMPLES: Final = {
    "bot_token": "d",
    "public_key": "b" * 64,
    "responders": "1",
    "api_url": "http://127.0.0.1:1/",
    "gateway": "false",
    "message_content": "false",
    "shards": "2",
}
