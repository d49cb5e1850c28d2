"""A value for each setting of Slack that is not the default, as an environment variable has it."""

from typing import Final

SAMPLES: Final = {
    "bot_token": "xoxb",
    "app_token": "xapp",
    "signing_secret": "s",
    "responders": "U1",
    "api_url": "http://127.0.0.1:1/api/",
}
