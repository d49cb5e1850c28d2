"""Grok's hooks.

Shapes: what Grok 1.0.41 sends, and its user guide, which is in the program. A PreToolUse hook can block a call but not
give it a result, so the answer is in the message of the block. Grok drops what a hook says to a submitted prompt, so
late answers come with the next result of a tool.
"""

from __future__ import annotations

from typing import Final

from answerback.hooks.host import Host, question_call, session_of
from answerback_agents.pipe.host_answers import deny

HOST: Final = Host(
    name="grok",
    call=lambda event: question_call(event, "ask_user_question", "claude"),
    answer=lambda event, outcome: deny("grok", event, outcome.description),
    conversation=session_of("PostToolUse"),
)
