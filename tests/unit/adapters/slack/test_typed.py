"""Restore the text that a person typed from Slack's formatting of it."""

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
