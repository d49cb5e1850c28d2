"""Slack's published limits, each with its unit and its page. Limits that we chose are defined where they are used.

Lengths are in UTF-16 code units: Slack does not document which unit its server counts, and this is the strictest of
the plausible ones.
"""

from __future__ import annotations

from typing import Final

BLOCKS_PER_MESSAGE: Final = 50
"""Blocks: https://docs.slack.dev/reference/block-kit/blocks"""
ALT_TEXT: Final = 2_000
"""Units: https://docs.slack.dev/reference/block-kit/blocks/image-block"""
PICTURE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif"})
"""The types of picture that an image block shows: https://docs.slack.dev/reference/block-kit/blocks/image-block"""
BLOCKS_PER_MODAL: Final = 100
"""Blocks: https://docs.slack.dev/reference/block-kit/blocks"""
MESSAGE_TEXT: Final = 4_000
"""Units of a message's ``text``. A longer one is rejected by https://docs.slack.dev/reference/methods/chat.update and
split into several messages by https://docs.slack.dev/reference/methods/chat.postMessage."""
BLOCKS_TEXT: Final = 12_000
"""Units of all texts in a message's blocks together. Slack does not publish this limit; ``msg_blocks_too_long`` was
seen at about 13,200: https://github.com/slackapi/bolt-js/issues/2509"""

SECTION_TEXT: Final = 3_000
"""Units: https://docs.slack.dev/reference/block-kit/blocks/section-block"""
CONTEXT_TEXT: Final = 3_000
"""Units of one text: https://docs.slack.dev/reference/block-kit/composition-objects/text-object"""
HEADER_TEXT: Final = 150
"""Units: https://docs.slack.dev/reference/block-kit/blocks/header-block"""
CONTAINER_TITLE: Final = 150
"""Units: https://docs.slack.dev/reference/block-kit/blocks/container-block"""
INPUT_LABEL: Final = 2_000
"""Units: https://docs.slack.dev/reference/block-kit/blocks/input-block"""
INPUT_HINT: Final = 2_000
"""Units: https://docs.slack.dev/reference/block-kit/blocks/input-block"""

BUTTON_TEXT: Final = 75
"""Units: https://docs.slack.dev/reference/block-kit/block-elements/button-element"""
OPTION_TEXT: Final = 75
"""Units: https://docs.slack.dev/reference/block-kit/composition-objects/option-object"""
OPTION_DESCRIPTION: Final = 75
"""Units: https://docs.slack.dev/reference/block-kit/composition-objects/option-object"""
BOXES: Final = 10
"""Options: https://docs.slack.dev/reference/block-kit/block-elements/radio-button-group-element and
https://docs.slack.dev/reference/block-kit/block-elements/checkboxes-element"""
MENU_OPTIONS: Final = 100
"""Options of a menu, or of each of its groups:
https://docs.slack.dev/reference/block-kit/block-elements/select-menu-element"""
PLACEHOLDER: Final = 150
"""Units: https://docs.slack.dev/reference/block-kit/block-elements/select-menu-element"""
CONFIRM_TITLE: Final = 100
"""Units: https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object"""
CONFIRM_TEXT: Final = 300
"""Units: https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object"""
CONFIRM_BUTTON: Final = 30
"""Units: https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object"""
INPUT_TEXT: Final = 3_000
"""Units: https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element"""
FIRST_MOMENT: Final = 1_000_000_000
"""Seconds since the epoch, the smallest number with ten digits:
https://docs.slack.dev/reference/block-kit/block-elements/datetime-picker-element"""
LAST_MOMENT: Final = 9_999_999_999
"""Seconds since the epoch, the largest number with ten digits:
https://docs.slack.dev/reference/block-kit/block-elements/datetime-picker-element"""

MODAL_TITLE: Final = 24
"""Units of a modal's title, and of its Submit and Close buttons: https://docs.slack.dev/surfaces/modals"""
MODAL_BYTES: Final = 250_000
"""Bytes of JSON, with all non-ASCII characters escaped: https://docs.slack.dev/reference/methods/views.open"""

SIGNATURE_SECONDS: Final = 300
"""The most seconds between a signature's timestamp and now:
https://docs.slack.dev/authentication/verifying-requests-from-slack"""
