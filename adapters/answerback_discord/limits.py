"""Discord's published limits, each with its unit and a link to its page. Limits of our own are where they are used.

Lengths are counted in UTF-16 units. The documentation means code points
(https://github.com/discord/discord-api-docs/issues/1315), but a text never has more code points than units, so the
stricter count is safe whichever Discord applies to a field.
"""

from __future__ import annotations

from typing import Final

# --- components: https://docs.discord.com/developers/components/reference -------------------------

BUTTON_LABEL: Final = 80
"""Units: https://docs.discord.com/developers/components/reference#button"""
BUTTONS_PER_ROW: Final = 5
"""Buttons: https://docs.discord.com/developers/components/reference#action-row"""
SELECT_OPTIONS: Final = 25
"""Options: https://docs.discord.com/developers/components/reference#string-select"""
OPTION_LABEL: Final = 100
"""Units; the same for the options of radio and checkbox groups:
https://docs.discord.com/developers/components/reference#string-select-select-option-structure"""
OPTION_DESCRIPTION: Final = 100
"""Units; the same for the options of radio and checkbox groups:
https://docs.discord.com/developers/components/reference#string-select-select-option-structure"""
PLACEHOLDER: Final = 150
"""Units: https://docs.discord.com/developers/components/reference#string-select"""
INPUT_VALUE: Final = 4_000
"""Units: https://docs.discord.com/developers/components/reference#text-input"""
INPUT_PLACEHOLDER: Final = 100
"""Units: https://docs.discord.com/developers/components/reference#text-input"""
RADIO_OPTIONS_LEAST: Final = 2
"""Options: https://docs.discord.com/developers/components/reference#radio-group"""
RADIO_OPTIONS: Final = 10
"""Options: https://docs.discord.com/developers/components/reference#radio-group"""
CHECKBOX_OPTIONS: Final = 10
"""Options: https://docs.discord.com/developers/components/reference#checkbox-group"""
LABEL_TEXT: Final = 45
"""Units: https://docs.discord.com/developers/components/reference#label"""
LABEL_DESCRIPTION: Final = 100
"""Units: https://docs.discord.com/developers/components/reference#label"""

# --- messages, modals and threads -----------------------------------------------------------------

MESSAGE_TEXT: Final = 4_000
"""Units, of all Text Displays of a message together: https://github.com/discord/discord-api-docs/pull/8562"""
MODAL_TITLE: Final = 45
"""Units: https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-modal"""
UPLOADS: Final = 10
"""Files of one upload in a modal: https://docs.discord.com/developers/components/reference#file-upload"""
CDN_HOSTS: Final = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
"""The hosts of attachments: https://docs.discord.com/developers/reference#signed-attachment-cdn-urls"""
MODAL_COMPONENTS: Final = 5
"""Top-level components of a modal:
https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-modal"""
CONTENT: Final = 2_000
"""Units of a message without components: https://docs.discord.com/developers/resources/message#create-message"""
PICTURE_TEXT: Final = 1_024
"""Units of a picture's description: https://docs.discord.com/developers/components/reference#media-gallery"""
NONCE: Final = 25
"""Characters: https://docs.discord.com/developers/resources/message#create-message"""
MESSAGES_PER_PAGE: Final = 100
"""Messages: https://docs.discord.com/developers/resources/message#get-channel-messages"""
COMMAND_DESCRIPTION: Final = 100
"""Units: https://docs.discord.com/developers/interactions/application-commands#application-command-object"""
THREAD_NAME: Final = 100
"""Units: https://docs.discord.com/developers/resources/channel#start-thread-from-message"""
THREAD_MINUTES: Final = 10_080
"""Minutes without a message until a thread is archived, at most:
https://docs.discord.com/developers/resources/channel#start-thread-from-message"""

# --- times ----------------------------------------------------------------------------------------

ANSWER_SECONDS: Final = 3.0
"""Seconds to respond to an interaction: https://docs.discord.com/developers/interactions/receiving-and-responding"""
REQUESTS_PER_SECOND: Final = 50
"""Requests: https://docs.discord.com/developers/topics/rate-limits#global-rate-limit"""
EPOCH_MS: Final = 1_420_070_400_000
"""Milliseconds from 1970 to the epoch of ids: https://docs.discord.com/developers/reference#snowflakes"""

# --- bits -----------------------------------------------------------------------------------------

EPHEMERAL: Final = 1 << 6
"""A flag of a message: https://docs.discord.com/developers/resources/message#message-object-message-flags"""
COMPONENTS_V2: Final = 1 << 15
"""A flag of a message: https://docs.discord.com/developers/resources/message#message-object-message-flags"""
PERMISSIONS: Final = {
    "View Channels": 1 << 10,
    "Send Messages": 1 << 11,
    "Read Message History": 1 << 16,
    "Create Public Threads": 1 << 35,
    "Send Messages in Threads": 1 << 38,
    "Add Reactions": 1 << 6,
}
"""The permissions that Answerback needs in a server, and no more:
https://docs.discord.com/developers/topics/permissions"""
ATTACH_FILES: Final = 1 << 15
"""The permission to show pictures, without which everything else works:
https://docs.discord.com/developers/topics/permissions"""
ADMINISTRATOR: Final = 1 << 3
"""A permission: https://docs.discord.com/developers/topics/permissions"""
FLAG_MESSAGE_CONTENT: Final = (1 << 18) | (1 << 19)
"""Flags of an application; either of them lets it read the text of messages:
https://docs.discord.com/developers/resources/application#application-object-application-flags"""
FLAG_MESSAGE_CONTENT_LIMITED: Final = 1 << 19
"""The one of these flags that an application can set through the API:
https://docs.discord.com/developers/resources/application#edit-current-application"""
SETTABLE_FLAGS: Final = (1 << 13) | (1 << 15) | (1 << 19)
"""Flags that an application can set through the API:
https://docs.discord.com/developers/resources/application#edit-current-application"""
