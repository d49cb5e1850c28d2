"""Slack's limits, each with the page it comes from. Lengths count as UTF-16 code units: Slack does not say which
unit its server counts in, and this is the strictest of the plausible ones.
"""

from __future__ import annotations

from typing import Final

# https://docs.slack.dev/reference/block-kit/blocks
BLOCKS_PER_MESSAGE: Final = 50
BLOCKS_PER_MODAL: Final = 100

# https://docs.slack.dev/reference/methods/chat.update (chat.postMessage advises the same and splits what is longer)
MESSAGE_TEXT: Final = 4_000
# Undocumented; `msg_blocks_too_long` was seen at about 13,200: https://github.com/slackapi/bolt-js/issues/2509
BLOCKS_TEXT: Final = 12_000

# https://docs.slack.dev/reference/block-kit/blocks/section-block
SECTION_TEXT: Final = 3_000
# https://docs.slack.dev/reference/block-kit/blocks/header-block
HEADER_TEXT: Final = 150
# https://docs.slack.dev/reference/block-kit/blocks/actions-block
ACTIONS_ELEMENTS: Final = 25
# https://docs.slack.dev/reference/block-kit/blocks/input-block
INPUT_LABEL: Final = 2_000
INPUT_HINT: Final = 2_000
# https://docs.slack.dev/reference/block-kit/block-elements/button-element
BUTTON_TEXT: Final = 75
# https://docs.slack.dev/reference/block-kit/composition-objects/option-object
OPTION_TEXT: Final = 75
OPTION_DESCRIPTION: Final = 75
# https://docs.slack.dev/reference/block-kit/block-elements/radio-button-group-element (and …/checkboxes-element)
BOXES: Final = 10
# https://docs.slack.dev/reference/block-kit/block-elements/select-menu-element
MENU_OPTIONS: Final = 100
PLACEHOLDER: Final = 150
# https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object
CONFIRM_TITLE: Final = 100
CONFIRM_TEXT: Final = 300
CONFIRM_BUTTON: Final = 30
# https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element
INPUT_TEXT: Final = 3_000

# https://docs.slack.dev/surfaces/modals
MODAL_TITLE: Final = 24
MODAL_METADATA: Final = 3_000
# https://docs.slack.dev/reference/methods/views.open: 250 kB; what a client sends may be escaped to ASCII
MODAL_BYTES: Final = 240_000

# https://docs.slack.dev/interactivity/handling-user-interaction
ACK_SECONDS: Final = 3.0
# https://docs.slack.dev/authentication/verifying-requests-from-slack
SIGNATURE_SECONDS: Final = 300

# Ours, by what people complain of: clients may cut a button near 30 characters, and side by side few are read.
SHORT_LABEL: Final = 28
FEW_OPTIONS: Final = 5
