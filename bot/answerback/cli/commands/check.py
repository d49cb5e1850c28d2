"""``answerback check``: is this form one that can be asked? Needs no server."""

from __future__ import annotations

import sys

from answerback.cli.commands.options import Form
from answerback.cli.output import result, say, warn


def command(form: Form) -> None:
    """Check a form without a server: every mistake, with its place.

    Example: `answerback check migration.json`

    Exits with 0 when the form can be asked, else with 2.
    """
    from answerback.cli.forms import EXIT_INVALID, lines_of, read_call
    from answerback.core.errors import InvalidCallError
    from answerback.dialects.registry import parse_call
    from answerback.service.submission import read_submission

    try:
        submission = read_submission(read_call(form))
        dialect, parsed = parse_call(submission.name, submission.arguments, submission.dialect)
    except InvalidCallError as error:
        for line in lines_of(error.problems):
            result(line)
        count = len(error.problems)
        warn(f"{form}: {count} mistake{'s' if count > 1 else ''}.")
        sys.exit(EXIT_INVALID)
    count = len(parsed.questions)
    say(f"{form} can be asked: {count} question{'s' if count > 1 else ''}, dialect {dialect}.")
