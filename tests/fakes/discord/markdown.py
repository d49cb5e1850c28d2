"""Discord's markdown as HTML, as far as an app's messages use it.

https://support.discord.com/hc/en-us/articles/210298617. A backslash takes the meaning from the mark after it.
"""

import re
import time
from html import escape

FENCE = re.compile(r"```(?:(?P<language>[\w+-]*)\n)?(?P<code>.*?)```", re.DOTALL)
DIFF_LINES = {"+": "added", "-": "removed", "@": "hunk"}
INLINE = re.compile(
    r"\\(?P<plain>[^0-9A-Za-z\s])|(?P<tick>`+)(?P<code>.+?)(?P=tick)|\*\*(?P<bold>.+?)\*\*|__(?P<under>.+?)__"
    r"|~~(?P<struck>.+?)~~|\*(?P<star>[^*\s](?:[^*]*[^*\s])?)\*|(?<!\w)_(?P<bar>[^_]+)_(?!\w)"
    r"|\[(?P<label>[^\]]+)\]\((?P<href>https?://[^)\s]+)\)|(?P<url>https?://[^\s<>]+)|<(?P<mention>[@#][!&]?\d+)>"
    r"|<t:(?P<time>\d+):(?P<style>[fR])>",
    re.DOTALL,
)
LINE_MARKS = [("### ", "h3"), ("## ", "h2"), ("# ", "h1"), ("-# ", "small"), ("> ", "blockquote")]
TAGS = {"bold": "b", "under": "u", "struck": "s", "star": "i", "bar": "i"}


def to_html(text: str) -> str:
    """The HTML of a text; any HTML in the text itself is escaped."""
    parts, last = [], 0
    for fence in FENCE.finditer(text):
        parts.append(_lines(text[last : fence.start()]))
        parts.append(f"<pre>{_code(fence['code'], fence['language'])}</pre>")
        last = fence.end()
    return "".join([*parts, _lines(text[last:])])


def _code(code: str, language: str | None) -> str:
    """A code block; the lines of a diff are coloured."""
    if language != "diff":
        return escape(code)
    lines = code.removesuffix("\n").split("\n")
    return "\n".join(
        f"<span class={DIFF_LINES[line[0]]}>{escape(line)}</span>"
        if line[:1] in DIFF_LINES
        else escape(line)
        for line in lines
    )


def _lines(text: str) -> str:
    done = []
    for line in text.strip("\n").split("\n") if text.strip("\n") else []:
        for mark, tag in LINE_MARKS:
            if line.startswith(mark):
                done.append(f"<{tag}>{_inline(line[len(mark) :])}</{tag}>")
                break
        else:
            bullet = re.match(r"\s*[-*] (.*)", line)
            done.append(
                f"<div class=li>{_inline(bullet[1])}</div>"
                if bullet
                else f"<div>{_inline(line)}&#8203;</div>"
            )
    return "".join(done)


def _inline(text: str) -> str:
    out, last = [], 0
    for match in INLINE.finditer(text):
        out.append(escape(text[last : match.start()]))
        out.append(_one(match))
        last = match.end()
    return "".join([*out, escape(text[last:])])


def _one(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if match["plain"]:
        return escape(match["plain"])
    if match["code"]:
        return f"<code>{escape(match['code'])}</code>"
    if match["href"]:
        return f'<a href="{escape(match["href"])}">{_inline(match["label"])}</a>'
    if match["url"]:
        return f'<a href="{escape(match["url"])}">{escape(match["url"])}</a>'
    if match["mention"]:
        return f"<span class=mention>{escape(match['mention'])}</span>"
    if match["style"] == "f":
        at = time.strftime("%d %B %Y %H:%M", time.gmtime(int(match["time"])))
        return f"<span class=mention>{at}</span>"
    if match["time"]:
        minutes = max(0, int(time.time()) - int(match["time"])) // 60
        return f"<span class=mention>{minutes} minutes ago</span>"
    tag = TAGS[kind or "bold"]
    return f"<{tag}>{_inline(match[kind or 'bold'])}</{tag}>"
