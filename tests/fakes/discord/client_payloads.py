"""The payloads that Discord's client makes of what a person chose or entered.

https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object-interaction-data
"""

from collections.abc import Sequence

from tests.fakes.discord.problems import Payload
from tests.fakes.discord.rules import CHECKBOX, RADIO, ROW, STRING_SELECT, TEXT, TEXT_INPUT
from tests.fakes.discord.visible_message import Field, NotPossibleError, options_of
from tests.fakes.discord.wire_json import channel_json, member_json, role_json, user_json
from tests.fakes.discord.world import Channel, World


def submitted(component: Payload, fields: list[Field]) -> Payload:
    """One top-level component of a modal as its submit carries it."""
    kind, number = component["type"], component["id"]
    if kind == TEXT:
        return {"type": TEXT, "id": number}
    inner = component["components"][0] if kind == ROW else component["component"]
    entry = next(each for each in fields if each.component is inner)
    key = "value" if inner["type"] in {TEXT_INPUT, RADIO, CHECKBOX} else "values"
    sent: Payload = {"type": inner["type"], "id": inner["id"], "custom_id": inner["custom_id"]}
    sent[key] = entry.value
    inside: Payload = {"components": [sent]} if kind == ROW else {"component": sent}
    return {"type": kind, "id": number, **inside}


def subcommand(offered: Sequence[Payload], name: str = "", text: str = "") -> Payload:
    """A subcommand as it is sent: one that is offered, with what it requires and nothing else."""
    found = next((each for each in offered if each["name"] == name), None)
    if found is None:
        raise NotPossibleError(f"no subcommand {name!r} is offered")
    options = found.get("options") or []
    if len(options) > 1 or bool(text) != any(each.get("required") for each in options):
        raise NotPossibleError(f"{name} takes {[each['name'] for each in options]}")
    given = [{"name": each["name"], "type": each["type"], "value": text} for each in options]
    return {"name": name, "type": found["type"], "options": given}


def resolved(world: World, values: list[str], channel: Channel) -> Payload:
    """Return the objects behind the ids chosen in a user, role, mentionable or channel select."""
    guild = world.guilds.get(channel.guild_id or 0)
    found: Payload = {"users": {}, "members": {}, "roles": {}, "channels": {}}
    for value in values:
        if int(value) in world.users:
            found["users"][value] = user_json(world.users[int(value)])
            if guild:
                member = member_json(world, guild, int(value), with_user=False)
                found["members"][value] = member
        elif guild and int(value) in guild.roles:
            found["roles"][value] = role_json(guild.roles[int(value)])
        elif int(value) in world.channels:
            found["channels"][value] = channel_json(world, world.channels[int(value)])
    return {key: each for key, each in found.items() if each}


def values_of(component: Payload, labels: list[str]) -> list[str]:
    """The values behind labels; a select that Discord fills takes ids instead of labels."""
    options = options_of(component)
    if not options:
        return labels
    by_label = {each.label: each.value for each in options}
    unknown = [label for label in labels if label not in by_label]
    if unknown:
        raise NotPossibleError(f"no option {unknown}; there are {list(by_label)}")
    if component["type"] in {STRING_SELECT} or len(labels) > 1:
        return [each.value for each in options if each.label in labels]
    return [by_label[label] for label in labels]
