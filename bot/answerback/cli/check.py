"""``answerback check``: checks whether a form can be asked, without a server."""

from __future__ import annotations

import sys

from answerback_agents.cli.options import Form, Json
from answerback_agents.cli.output import EXIT_USAGE, counted, print_json, print_result, say, warn


def command(form: Form, json: Json = False) -> None:
    """Check a form without a server, and list every error with its location.

    Example: `answerback check migration.json`

    Exits with 0 if the form is valid, and with 2 if it is not.
    """
    from answerback.cli.form_problems import format_problems
    from answerback.cli.validate import validate_submission
    from answerback.core.errors import InvalidCallError
    from answerback.service.submission_request import read_submission
    from answerback_agents.cli.form_files import read_call

    try:
        call, _ = validate_submission(read_submission(read_call(form)))
    except InvalidCallError as error:
        if json:
            errors = [problem.model_dump() for problem in error.problems]
            print_json({"valid": False, "errors": errors})
            sys.exit(EXIT_USAGE)
        for line in format_problems(error.problems):
            print_result(line)
        warn(f"{form}: {counted(len(error.problems), 'error')}.")
        sys.exit(EXIT_USAGE)
    dialect, count = call.dialect, len(call.form.questions)
    if json:
        print_json({"valid": True, "dialect": dialect, "questions": count, "errors": []})
        return
    say(f"{form} is valid: {counted(count, 'question')}, dialect {dialect}.")
