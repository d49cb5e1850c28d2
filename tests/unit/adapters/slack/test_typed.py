"""Restore the text that a person typed from Slack's formatting of it, and tell what else a message says."""

from __future__ import annotations

import pytest

from answerback_slack import typed_messages


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        ("<https://example.com/x?a=1&amp;b=2>", "https://example.com/x?a=1&b=2"),
        ("see <http://example.com|example.com>!", "see example.com!"),
        ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("<mailto:a@b.example|Ada>", "Ada (a@b.example)"),
        ("<tel:+4930123|+4930123>", "+4930123"),
        ("<http://example.com/|example.com>", "example.com"),
        ("<https://x.example/?a&amp;b|https://x.example/?a&amp;b>", "https://x.example/?a&b"),
        (
            "<https://ci.example/run/7|the failing run>",
            "the failing run (https://ci.example/run/7)",
        ),
        ("<@U012|bob> and <@U013>", "@bob and @U013"),
        ("<#C012|general>", "#general"),
        ("<!here> <!subteam^S1|@ops>", "@here @ops"),
        ("<!date^1700000000^{date}|Tuesday>", "Tuesday"),
        (":tada: plain", ":tada: plain"),
        (":two:, :keycap_ten:", "2\ufe0f\u20e3, \U0001f51f"),
    ],
)
def test_what_slack_adds_to_a_message_is_undone(sent: str, meant: str) -> None:
    assert typed_messages.text_as_typed(sent) == meant


def test_only_the_mention_that_addresses_the_bot_is_removed() -> None:
    assert typed_messages.strip_mention("<@U0BOT>, use staging", "U0BOT") == "use staging"
    assert (
        typed_messages.strip_mention("use staging\n<@U0BOT|answerback>", "U0BOT") == "use staging"
    )
    assert typed_messages.strip_mention("<@U0BOT>: a\n\n  b\n", "U0BOT") == "a\n\n  b\n"
    assert typed_messages.strip_mention("<@U0BOT>\n  a\n", "U0BOT") == "  a\n"
    assert typed_messages.strip_mention("  two  blanks ", "U0BOT") == "  two  blanks "
    assert typed_messages.strip_mention("<@U0BOT> :two:", "U0BOT") == ":two:"
    assert typed_messages.strip_mention("<@U0BOT>:yes", "U0BOT") == "yes"
    inside = "Tell <@U0BOT> to stop.\n<@U0BOT> may go on"
    assert typed_messages.strip_mention(inside, "U0BOT") == inside
    assert typed_messages.strip_mention(f"<@U0BOT> {inside}", "U0BOT") == inside
    assert typed_messages.mentions_user("hey <@U0BOT|answerback>", "U0BOT")
    assert not typed_messages.mentions_user("hey <@U0BOTTLE>", "U0BOT")


def changed(**message: object) -> dict[str, object]:
    """Return the event of a message whose text was "no" before."""
    sent = {"type": "message", "user": "U0ADA", "ts": "1700000000.000100"}
    return {
        "type": "message",
        "subtype": "message_changed",
        "channel": "D0ADA",
        "channel_type": "im",
        "message": {**sent, **message},
        "previous_message": {**sent, "text": "no"},
    }


@pytest.mark.rule("TYPED-14")
def test_only_a_change_of_its_text_by_its_author_is_an_edit() -> None:
    edited = {"user": "U0ADA", "ts": "1700000060.000000"}
    typed = typed_messages.typed_message_from_event(changed(text="yes", edited=edited))
    assert typed is not None
    assert (typed.text, typed.is_edit, typed.at) == ("yes", True, 1_700_000_060.0)
    assert typed.delivery == "slack:D0ADA:1700000000.000100"
    for message in (
        {"text": "no", "edited": edited, "attachments": [{"title": "a link"}]},
        {"text": "yes"},
        {"text": "yes", "edited": edited, "bot_id": "B0BOT"},
    ):
        assert typed_messages.typed_message_from_event(changed(**message)) is None


@pytest.mark.rule("TYPED-13")
def test_a_file_sent_directly_without_a_text_is_a_message() -> None:
    sent = {"type": "message", "user": "U0ADA", "ts": "1700000000.000100", "channel": "D0ADA"}
    typed = typed_messages.typed_message_from_event(
        sent | {"channel_type": "im", "subtype": "file_share", "text": "", "files": [{"id": "F1"}]}
    )
    assert typed is not None
    assert (typed.text, typed.has_files) == ("", True)
    assert typed_messages.typed_message_from_event(sent | {"text": ""}) is None
