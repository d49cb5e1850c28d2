"""Discord's published limits. Nothing else in this package names a number of Discord's.

Lengths are counted in UTF-16 units: the documentation means code points
(https://github.com/discord/discord-api-docs/issues/1315), and a text never has more code points
than units, so that the stricter count is safe whichever is applied to a field.
"""

from __future__ import annotations

from typing import Final

# https://docs.discord.com/developers/components/reference
CUSTOM_ID: Final = 100
BUTTON_LABEL: Final = 80
BUTTON_LABEL_EASY: Final = 38
"""What the design guide wants of a button's label: more is cut by narrow clients."""
BUTTONS_PER_ROW: Final = 5
SELECT_OPTIONS: Final = 25
OPTION_LABEL: Final = 100
OPTION_DESCRIPTION: Final = 100
PLACEHOLDER: Final = 150
INPUT_VALUE: Final = 4_000
INPUT_PLACEHOLDER: Final = 100
RADIO_OPTIONS_LEAST: Final = 2
RADIO_OPTIONS: Final = 10
CHECKBOX_OPTIONS: Final = 10
LABEL_TEXT: Final = 45
LABEL_DESCRIPTION: Final = 100
COMPONENTS: Final = 40
"""Components of a message, nested ones included."""

# https://github.com/discord/discord-api-docs/pull/8562: all Text Displays of a message together
MESSAGE_TEXT: Final = 4_000

# https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-modal
MODAL_TITLE: Final = 45
MODAL_COMPONENTS: Final = 5

# https://docs.discord.com/developers/interactions/receiving-and-responding: seconds
INTERACTION_ANSWER: Final = 3.0

# https://docs.discord.com/developers/resources/message#create-message
CONTENT: Final = 2_000
NONCE: Final = 25
MESSAGES_PER_PAGE: Final = 100

# https://docs.discord.com/developers/resources/channel
THREAD_NAME: Final = 100

# https://docs.discord.com/developers/reference#snowflakes
EPOCH_MS: Final = 1_420_070_400_000

# https://docs.discord.com/developers/resources/message#message-object-message-flags
EPHEMERAL: Final = 1 << 6
COMPONENTS_V2: Final = 1 << 15

# https://docs.discord.com/developers/topics/permissions
PERMISSIONS: Final = {
    "View Channels": 1 << 10,
    "Send Messages": 1 << 11,
    "Read Message History": 1 << 16,
    "Create Public Threads": 1 << 35,
    "Send Messages in Threads": 1 << 38,
    "Add Reactions": 1 << 6,
}
"""What Answerback needs of a server, and nothing more."""
ADMINISTRATOR: Final = 1 << 3

# https://docs.discord.com/developers/resources/application#application-object-application-flags
FLAG_MESSAGE_CONTENT: Final = (1 << 18) | (1 << 19)
FLAG_MESSAGE_CONTENT_LIMITED: Final = 1 << 19
SETTABLE_FLAGS: Final = (1 << 13) | (1 << 15) | (1 << 19)
"""The flags that the API lets an application set: the LIMITED ones of the privileged intents."""
