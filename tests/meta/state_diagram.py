"""The state diagram in docs/architecture.md, generated from the walker's behaviour.

`python -m tests.meta.state_diagram` writes docs/images/states.svg. The arrows between the states of a walk come from
trying every action in every state that sample forms reach. This module only specifies the positions of the states.
Arrows that no person's action causes come from the service.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

from answerback.core import walker
from answerback.core.actions import (
    Action,
    Answer,
    Back,
    Confirm,
    Edit,
    EndTurn,
    Object,
    Other,
    Reply,
    Submit,
)
from answerback.core.ask import Status
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import AnswerType, Form, Question, When
from answerback.core.person import Person
from answerback.core.walker import Phase, Walk

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "states.svg"

Arrow = tuple[str, str]

_ACTIONS: tuple[Action, ...] = (
    Answer(value=True),
    Answer(value=False),
    Other(text="words of my own"),
    Back(),
    Edit(question_id="a"),
    Submit(),
    Reply(text="not like this"),
    Confirm(),
    Object(text="not like this"),
    EndTurn(),
)
_PEOPLE = tuple(Person(surface="web", user_id=name) for name in ("ann", "bob", "cy"))

BY_THE_SERVICE: dict[Arrow, tuple[str, ...]] = {
    ("open", Status.EXPIRED): ("time is up",),
    ("open", Status.WITHDRAWN): ("taken back",),
    ("open", Status.FAILED): ("nobody to ask",),
}


def _forms() -> Iterator[Form]:
    rules = (None, ConfirmationRule(due=1), ConfirmationRule(due=2))
    for count, review, rule in itertools.product((1, 2, 3), (False, True), rules):
        if count == 3 and rule is not None:
            continue  # nothing new
        yield Form(
            questions=tuple(
                Question(
                    id=name,
                    text=f"{name}?",
                    answer_type=AnswerType.BOOLEAN,
                    other=True,
                    when=When(question_id="a", equals=True) if name == "c" else None,
                )
                for name in "abc"[:count]
            ),
            review=review,
            confirmation=rule,
        )


def arrows() -> dict[Arrow, tuple[str, ...]]:
    """Return every transition between two states of a walk, with the actions that cause it."""
    found: dict[Arrow, set[str]] = {}
    for form in _forms():
        first = walker.start(form)
        seen: set[Walk] = {first}
        todo = [first]
        while todo:
            walk = todo.pop()
            people = _PEOPLE if form.confirmation is not None else _PEOPLE[:1]
            for action, by in itertools.product(_ACTIONS, people):
                after = walker.step(form, walk, action, by=by, at=0.0)
                if isinstance(after, walker.Refused):
                    continue
                found.setdefault((walk.phase, after.phase), set()).add(action.action)
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
    return {arrow: tuple(sorted(actions)) for arrow, actions in found.items()}


WIDTH, HEIGHT = 860, 470
BOX_WIDTH, BOX_HEIGHT = 116, 44
_POSITIONS: dict[str, tuple[int, int]] = {
    Phase.QUESTION: (110, 120),
    Phase.REVIEW: (480, 120),
    Phase.CONFIRMATION: (480, 270),
    Phase.ANSWERED: (780, 120),
    Phase.CANCELLED: (80, 425),
    Phase.TURN_ENDED: (205, 425),
    Status.EXPIRED: (330, 425),
    Status.WITHDRAWN: (455, 425),
    Status.FAILED: (580, 425),
}
_OPEN = (20, 64, 620, 286)
"""Left, top, width and height of the frame around the states of an open ask."""

_STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #24292f; text-anchor: middle }
  .label { font-size: 12px; fill: #57606a }
  .box { fill: #ffffff; stroke: #3f51b5; stroke-width: 1.5 }
  .end { fill: #eef0fb }
  .frame { fill: none; stroke: #8c959f; stroke-dasharray: 5 4 }
  .arrow { fill: none; stroke: #57606a; stroke-width: 1.3; marker-end: url(#head) }
  .ground { fill: #ffffff }
  .head { fill: #57606a }
"""


def svg() -> str:
    """Return the picture as deterministic text."""
    left, top, width, height = _OPEN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        ' aria-label="The states of an ask and what moves it from one to the next">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8"'
        ' markerHeight="8" orient="auto-start-reverse">'
        '<path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>',
        f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<rect class="frame" x="{left}" y="{top}" width="{width}" height="{height}" rx="10"/>',
        f'<text class="label" x="{left + 30}" y="{top - 8}">open</text>',
    ]
    everything = {**_merged(arrows()), **BY_THE_SERVICE}
    lines += [_arrow(a, b, ", ".join(what)) for (a, b), what in sorted(everything.items())]
    lines += [_box(name, x, y) for name, (x, y) in _POSITIONS.items()]
    return "\n".join([*lines, "</svg>", ""])


def _merged(found: dict[Arrow, tuple[str, ...]]) -> dict[Arrow, tuple[str, ...]]:
    """Replace the arrows for a way to an end that all open states have with one from the frame."""
    merged = dict(found)
    for end in (Phase.CANCELLED, Phase.TURN_ENDED):
        ways = [set(merged.pop((start, end))) for start in walker.OPEN_PHASES]
        shared = set.intersection(*ways)
        merged["open", end] = tuple(sorted(shared))
        assert set().union(*ways) - shared <= {Object.action}
    merged["open", Phase.CANCELLED] += (Object.action,)
    return merged


def _box(name: str, x: int, y: int) -> str:
    kind = "box" if name in walker.OPEN_PHASES else "box end"
    left, top = x - BOX_WIDTH // 2, y - BOX_HEIGHT // 2
    return (
        f'<rect class="{kind}" x="{left}" y="{top}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}"'
        f' rx="8"/><text x="{x}" y="{y + 5}">{name.replace("_", " ")}</text>'
    )


def _arrow(start: str, end: str, label: str) -> str:
    half_width, half_height = BOX_WIDTH // 2, BOX_HEIGHT // 2
    to_x, to_y = _POSITIONS[end]
    if start == "open":  # straight down from the frame
        bottom = _OPEN[1] + _OPEN[3]
        path = f"M{to_x} {bottom} V{to_y - half_height}"
        return _arrow_svg(path, label, to_x, bottom + 30)
    x, y = _POSITIONS[start]
    if start == end:  # a loop under the box
        under = y + half_height
        path = f"M{x - 20} {under} C{x - 40} {under + 36} {x + 40} {under + 36} {x + 20} {under}"
        return _arrow_svg(path, label, x, under + 44)
    if start == Phase.QUESTION and end == Phase.ANSWERED:  # over the review
        over = y - half_height
        path = f"M{x + 20} {over} C{x + 80} 20 {to_x - 80} 20 {to_x - 10} {over}"
        return _arrow_svg(path, label, (x + to_x) // 2, 32)
    if Phase.CONFIRMATION in (start, end):
        return _slanted(start, end, label)
    away = 1 if to_x > x else -1
    level = y - 8 * away
    path = f"M{x + away * half_width} {level} H{to_x - away * half_width}"
    return _arrow_svg(path, label, (x + to_x) // 2, level - 8 if away > 0 else level + 20)


def _slanted(start: str, end: str, label: str) -> str:
    """A straight arrow from or to the confirmation, which is below the other boxes."""
    half_width, half_height = BOX_WIDTH // 2, BOX_HEIGHT // 2
    (x, y), (to_x, to_y) = _POSITIONS[start], _POSITIONS[end]
    down = 1 if to_y > y else -1
    if x == to_x:
        x += 12 * down
        path = f"M{x} {y + down * half_height} V{to_y - down * half_height}"
        return _arrow_svg(path, label, x + 34 * down, (y + to_y) // 2)
    away = 1 if to_x > x else -1
    # From the side of the lower box to the bottom of the upper one.
    if down > 0:
        path = f"M{x + 48} {y + half_height} L{to_x - away * half_width} {to_y - 10}"
    else:
        path = f"M{x + away * half_width} {y + 10} L{to_x - away * 28} {to_y + half_height}"
    return _arrow_svg(path, label, (x + to_x) // 2 + 40 * down, (y + to_y) // 2 + 6 - 14 * down)


def _arrow_svg(path: str, label: str, x: int, y: int) -> str:
    text = label.replace("_", " ")
    halo = 'style="paint-order: stroke; stroke: #ffffff; stroke-width: 5px"'
    return (
        f'<path class="arrow" d="{path}"/><text class="label" x="{x}" y="{y}" {halo}>{text}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(svg(), encoding="utf-8")
