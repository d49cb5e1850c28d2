"""A value for each setting of Telegram that is not the default, as an environment variable has it."""

from typing import Final

SAMPLES: Final = {
    "bot_token": "1:t",
    "responders": "1",
    "api_url": "http://127.0.0.1:1/",
    "webhook": "true",
    "rich_messages": "true",
}
