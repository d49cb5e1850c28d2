"""Rich text and mrkdwn as Slack's clients show them: what a person reads, and whom it notifies.

Owns the rules of `rich_text` blocks and the parser of mrkdwn (entities, links, mentions, styles).
Source: https://docs.slack.dev/messaging/formatting-message-text and
https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.fakes.slack.schema import Json, Problem

EMOJI = {
    "white_check_mark": "✅", "x": "❌", "warning": "⚠️", "hourglass": "⌛", "eyes": "👀",
    "pencil2": "✏️", "question": "❓", "heavy_check_mark": "✔️", "arrow_left": "⬅️",
    "speech_balloon": "💬", "octagonal_sign": "🛑", "lock": "🔒", "robot_face": "🤖",
    "ballot_box_with_check": "☑️", "no_entry": "⛔", "point_right": "👉", "memo": "📝",
    "information_source": "ℹ️", "alarm_clock": "⏰", "leftwards_arrow_with_hook": "↩️",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of shown text: `kind` is text, link, user, group, channel, broadcast or emoji."""

    text: str
    kind: str = "text"
    target: str = ""
    styles: frozenset[str] = frozenset()


_ENTITY = re.compile(r"<([^<>\n]+)>")
_EMOJI = re.compile(r":([a-z0-9_+\-]+):")
_STYLES = (("`", "code"), ("*", "bold"), ("_", "italic"), ("~", "strike"))
_AUTO = re.compile(r"https?://[^\s<>|]+|(?<!\w)@(?:here|channel|everyone)\b")


def unescape(text: str) -> str:
    """Undo Slack's three entities."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def runs(text: str, *, verbatim: bool = False) -> list[Run]:
    """An mrkdwn text as the client lays it out."""
    shown: list[Run] = []
    for index, part in enumerate(re.split(r"```(.+?)```", text, flags=re.DOTALL)):
        if index % 2:
            code = part.strip("\n")
            shown.append(Run(unescape(_ENTITY.sub(_label_only, code)), styles=frozenset({"pre"})))
        else:
            for line in part.splitlines(keepends=True):
                shown += _line(line, verbatim=verbatim)
    return shown


def _line(line: str, *, verbatim: bool) -> Iterator[Run]:
    """A line; one that begins with ">", escaped or not, is a quote and loses that character."""
    quoted = re.match(r"(?:&gt;|>) ?", line)
    if quoted is None:
        yield from _inline(line, verbatim=verbatim)
        return
    for run in _inline(line[quoted.end() :], verbatim=verbatim):
        yield replace(run, styles=run.styles | {"quote"})


def visible(text: str, *, verbatim: bool = False) -> str:
    """The characters of an mrkdwn text that a person reads."""
    return "".join(run.text for run in runs(text, verbatim=verbatim))


def plain(text: str, *, emoji: bool = True) -> str:
    """The characters of a plain_text object that a person reads."""
    return _EMOJI.sub(_emoji_char, text) if emoji else text


def _emoji_char(match: re.Match[str]) -> str:
    return EMOJI.get(match.group(1), match.group(0))


def _label_only(match: re.Match[str]) -> str:
    return match.group(1).split("|")[-1]


def _inline(text: str, *, verbatim: bool) -> Iterator[Run]:
    position = 0
    for match in _ENTITY.finditer(text):
        yield from _styled(text[position : match.start()], verbatim=verbatim)
        yield _entity(match.group(1))
        position = match.end()
    yield from _styled(text[position:], verbatim=verbatim)


def _entity(inner: str) -> Run:
    target, _, label = inner.partition("|")
    shown = unescape(label or target)
    if inner.startswith("@"):
        return Run(shown, "user", target[1:])
    if inner.startswith("#"):
        return Run(shown, "channel", target[1:])
    if inner.startswith("!subteam^"):
        return Run(shown, "group", target.removeprefix("!subteam^"))
    if inner.startswith("!date^"):
        return Run(label, "text")
    if inner.startswith("!"):
        return Run("@" + target[1:], "broadcast", target[1:])
    return Run(shown, "link", unescape(target))


def _styled(text: str, *, verbatim: bool) -> Iterator[Run]:
    for marker, style in _STYLES:
        mark = re.escape(marker)
        pattern = (
            rf"(?<![\w{mark}]){mark}(?=[^\s{mark}])([^\n{mark}]*[^\s{mark}]){mark}(?![\w{mark}])"
        )
        match = re.search(pattern, text)
        if match is None:
            continue
        yield from _styled(text[: match.start()], verbatim=verbatim)
        if style == "code":
            yield Run(unescape(match.group(1)), styles=frozenset({style}))
        else:
            for run in _styled(match.group(1), verbatim=verbatim):
                yield replace(run, styles=run.styles | {style})
        yield from _styled(text[match.end() :], verbatim=verbatim)
        return
    yield from _auto(text, verbatim=verbatim)


def _auto(text: str, *, verbatim: bool) -> Iterator[Run]:
    """Without `verbatim`, Slack turns URLs and @here-style words into live ones automatically."""
    position = 0
    for match in () if verbatim else _AUTO.finditer(text):
        yield from _text(text[position : match.start()])
        word = unescape(match.group(0))
        if word.startswith("@"):
            yield Run(word, "broadcast", word[1:])
        else:
            yield Run(word, "link", word)
        position = match.end()
    yield from _text(text[position:])


def _text(text: str) -> Iterator[Run]:
    if text:
        yield Run(_EMOJI.sub(_emoji_char, unescape(text)))


_BLOCKS = {"rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote"}
_RUN_KEYS = {
    "text": {"type", "text", "style"}, "emoji": {"type", "name", "unicode", "skin_tone", "style"},
    "link": {"type", "url", "text", "unsafe", "style"}, "user": {"type", "user_id", "style"},
    "usergroup": {"type", "usergroup_id", "style"}, "channel": {"type", "channel_id", "style"},
    "broadcast": {"type", "range"}, "color": {"type", "value"},
    "date": {"type", "timestamp", "format", "url", "fallback"},
}  # fmt: skip


def check_rich_text(block: Json, pointer: str) -> Iterator[Problem]:
    """Yield the problems that Slack would reject inside a rich_text block."""
    elements = block.get("elements")
    if not isinstance(elements, list) or not elements:
        yield Problem(f"{pointer}/elements", "no less than 1 items allowed")
        return
    for index, element in enumerate(elements):
        here = f"{pointer}/elements/{index}"
        if not isinstance(element, dict) or element.get("type") not in _BLOCKS:
            yield Problem(here, "unsupported type in rich_text")
        elif element["type"] == "rich_text_list":
            if element.get("style") not in ("bullet", "ordered"):
                yield Problem(f"{here}/style", "must be one of bullet, ordered")
            sections = element.get("elements")
            for place, section in enumerate(sections if isinstance(sections, list) else [None]):
                yield from _check_runs(section, f"{here}/elements/{place}")
        else:
            yield from _check_runs(element, here)


def _check_runs(section: object, pointer: str) -> Iterator[Problem]:
    if not isinstance(section, dict) or not isinstance(section.get("elements"), list):
        yield Problem(pointer, "missing required field: elements")
        return
    for index, run in enumerate(section["elements"]):
        here = f"{pointer}/elements/{index}"
        kind = run.get("type") if isinstance(run, dict) else None
        if not isinstance(run, dict) or kind not in _RUN_KEYS:
            yield Problem(here, f"unsupported type: {kind}")
            continue
        for key in run.keys() - _RUN_KEYS[kind]:
            yield Problem(here, f"invalid additional property: {key}")
        if kind == "text" and not (isinstance(run.get("text"), str) and run["text"]):
            yield Problem(f"{here}/text", "must be more than 0 characters")


def rich_text_runs(block: Json) -> Iterator[Run]:
    """A rich_text block as the client lays it out."""
    for element in block.get("elements", []):
        if element.get("type") == "rich_text_list":
            for number, section in enumerate(element.get("elements", []), 1):
                mark = f"{number}. " if element.get("style") == "ordered" else "• "
                yield Run(mark)
                yield from rich_text_runs({"elements": [section]})
            continue
        style = {"rich_text_preformatted": "pre", "rich_text_quote": "quote"}.get(element["type"])
        for run in element.get("elements", []):
            shown = _rich_run(run)
            yield replace(shown, styles=shown.styles | {style}) if style else shown
        yield Run("\n")


def _rich_run(run: Json) -> Run:
    styles = frozenset(name for name, on in (run.get("style") or {}).items() if on)
    match run["type"]:
        case "emoji":
            return Run(EMOJI.get(run["name"], f":{run['name']}:"), "emoji", run["name"])
        case "link":
            return Run(run.get("text") or run["url"], "link", run["url"], styles)
        case "user" | "usergroup" | "channel" as kind:
            target = run[f"{kind}_id"]
            sigil = "#" if kind == "channel" else "@"
            return Run(f"{sigil}{target}", "group" if kind == "usergroup" else kind, target)
        case "broadcast":
            return Run(f"@{run['range']}", "broadcast", run["range"])
        case "text":
            return Run(run["text"], styles=styles)
        case _:
            return Run(str(run.get("fallback") or run.get("value") or ""))


def rich_text_strings(block: Json) -> Iterator[str]:
    """The strings of a rich_text block, for counting."""
    for run in rich_text_runs(block):
        yield run.text
