"""The classes that a plug-in's tests implement for `answerback_testing.surface_contract`: a platform and simulated
people."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.form import Question
from answerback_testing.surface_harness import SurfaceHarness


class Stage(Protocol):
    """The test environment: a platform with the service connected to it. All tests of a class share one."""

    harness: SurfaceHarness
    place: Destination
    """Where asks are shown."""

    async def add_person(self, name: str) -> SimulatedPerson:
        """Return a new person of this name at that place; they have received no private notes yet."""

    async def restart(self) -> None:
        """Stop the service and start it again on the same store; the platform and its people keep running."""


class SimulatedPerson(Protocol):
    """A platform-specific driver that acts as a person, based on what they saw when they last looked.

    Every action waits until the surface has responded, whatever the response. The person sees later changes only when
    they look again; until then, they act on an old copy.
    """

    user_id: str
    name: str
    """The name by which others see them."""

    async def look_at(self, ask: Ask) -> None:
        """Look at the surface's current view of an ask, waiting until it is shown. Exactly one message shows it."""

    async def read_all_text(self) -> str:
        """Return everything that the person can read of the ask: the message, its menus' options, "Show in full"."""

    def available_actions(self) -> set[str]:
        """Return which of back, ask_back, hand_over, reply, end_turn, submit, confirm, object, other and try_again can
        be used.
        """

    async def read_prefill(self, question: Question) -> JsonValue:
        """Return the value that the open question's controls show as chosen or filled in; None: nothing."""

    async def answer(self, question: Question, value: JsonValue) -> None:
        """Answer the open question. What was prefilled besides the options stays as far as the surface keeps it."""

    async def answer_as_prefilled(self, question: Question) -> None:
        """Answer the open question with what its controls start with, all unchanged."""

    async def answer_other(self, text: str) -> None:
        """Answer with "Something else…"."""

    async def go_back(self) -> None:
        """Use Back."""

    async def edit(self, ask: Ask, question: Question) -> None:
        """In the review: use Edit on a question."""

    async def submit(self) -> None:
        """In the review: use Submit."""

    async def confirm(self) -> None:
        """In the confirmation: use Confirm."""

    async def object_to(self, text: str | None) -> None:
        """In the confirmation: use Object, with or without a message."""

    async def hand_over(self, to: SimulatedPerson) -> str:
        """Use Hand over, and name another person; returns everything that is said in response."""

    async def reply(self, text: str | None) -> None:
        """Use Reply, with or without a message."""

    async def end_turn(self) -> None:
        """Use End Turn, and confirm it."""

    async def try_again(self, text: str | None = None) -> None:
        """Use "Tell the agent to try again", with or without a message, once an approval's host no longer waits."""


@runtime_checkable
class HasModals(SimulatedPerson, Protocol):
    """People enter text in a modal that opens over the message."""

    async def open_modal(self) -> bool:
        """Use the control that opens a text question's modal; returns whether one opened."""

    async def submit_modal(self, text: str) -> str:
        """Fill in and submit the open modal; returns everything the person is told in response."""


@runtime_checkable
class HasPrivateNotes(SimulatedPerson, Protocol):
    """The surface can show one person a note that others do not see."""

    async def private_notes(self, count: int) -> list[str]:
        """Return the notes this person has received, oldest first, once there are ``count``."""


@runtime_checkable
class HasTypedAnswers(SimulatedPerson, Protocol):
    """People can answer by typing a message where they write to each other."""

    async def type_message(self, text: str, *, meant: bool = True, with_file: bool = False) -> bool:
        """Type a message to the surface about the ask or, if not ``meant``, to other people.

        ``with_file`` sends something with it that the surface cannot pass on.
        Returns whether the message was marked as taken, once it is handled.
        """

    async def mention_bot(self, text: str, place: Destination) -> bool:
        """Type a message to the surface at a place, as a reply to nothing; see `type_message`."""

    async def edit_message(self, text: str) -> None:
        """Replace the text of the message that was typed last, without waiting for anything."""

    async def refusals(self, count: int) -> list[str]:
        """Return what this person was told about messages that were not taken, once there are ``count`` such notes."""


class SampleFile(NamedTuple):
    """A file to send."""

    name: str
    data: bytes


@runtime_checkable
class HasSentFiles(HasTypedAnswers, Protocol):
    """People can send files with what they type."""

    async def send_files(self, text: str, files: Sequence[SampleFile]) -> bool:
        """Send files to the surface with a text, which may be empty; see `type_message`."""

    def count_read(self) -> int:
        """Return how many files the surface has asked the platform for so far."""


@runtime_checkable
class HasFileForms(SimulatedPerson, Protocol):
    """The forms in which people write take files."""

    async def reply_with_files(self, text: str, files: Sequence[SampleFile]) -> str:
        """Use Reply, with files; return everything that the person is told in response, once it is decided."""

    async def reply_with_stalled_files(self, text: str, files: Sequence[SampleFile]) -> None:
        """Use Reply, with files of which the platform hands out nothing; returns once the service waits for one."""

    def hand_out_files(self) -> None:
        """Let the platform hand out files again."""


@runtime_checkable
class HasNotes(SimulatedPerson, Protocol):
    """A note can go with a choice, where the agent's tool takes one."""

    async def begin_note(self, question: Question, value: JsonValue) -> None:
        """Choose one of the open question's options, or several, as far as that comes first, and open the note."""

    async def read_note_form(self) -> str:
        """Return all that this person reads where the note is entered, once it is open."""

    async def finish_note(self, note: str) -> None:
        """Enter the note and what is left to choose, and send both."""


@runtime_checkable
class HasReminders(SimulatedPerson, Protocol):
    """People can be pinged: the surface is one of `answerback.ports.surface.SupportsReminders`."""

    async def count_reminders(self, count: int) -> int:
        """Return how many reminders of the ask this person can see, once there are ``count``."""

    def read_reminders(self) -> str:
        """Return all that this person reads now in the reminders of the ask."""


class ShownButton(NamedTuple):
    """A button that a person sees."""

    label: str
    id: str
    """The id by which the platform tells it from the others."""
    answers: bool
    """True if pressing it answers the open question with one of its options."""
    denies: bool
    """True if it looks like one that denies something."""


@runtime_checkable
class HasButtons(SimulatedPerson, Protocol):
    """Controls are buttons, each with its label."""

    def buttons(self) -> Sequence[ShownButton]:
        """Return the buttons of the ask, in the order shown."""

    async def press_button(self, shown: ShownButton) -> None:
        """Press a button that is shown at the moment."""

    def seen_at_once(self) -> str:
        """Return the text that the person sees without pressing anything, together with the labels of controls."""


@runtime_checkable
class HasMentions(SimulatedPerson, Protocol):
    """Texts can notify people, link and format; the surface must prevent an agent's texts from doing so."""

    def mentions_and_links(self) -> list[str]:
        """Return whom the ask's texts that this person sees would notify, and the targets of disguised links."""


@runtime_checkable
class HasAskingBack(SimulatedPerson, Protocol):
    """People can ask the agent to explain, if it accepts that; ``ask_back`` is then among the available actions."""

    async def ask_back(self, text: str) -> None:
        """Ask the agent to explain the open question."""


@runtime_checkable
class HasDeletion(SimulatedPerson, Protocol):
    """People can delete the live message."""

    async def delete_message(self) -> None:
        """Delete the message that was last looked at."""


@runtime_checkable
class HasRateLimits(Stage, Protocol):
    """The platform rejects calls that come too fast."""

    def rate_limit_next(self, calls: int) -> None:
        """Reject the given number of calls that post or edit a message; 0: stop rejecting."""

    def count_rate_limited(self) -> int:
        """Return how many calls were rejected so far."""


@runtime_checkable
class HasPayloads(Stage, Protocol):
    """The platform sends what people do as signed payloads."""

    def payloads(self) -> Sequence[JsonValue]:
        """Return the payloads that were sent so far, and an example of each other kind, about no ask."""

    async def send_payload(self, payload: JsonValue) -> None:
        """Send a payload as the platform would; fail if the service calls that a failure of its own."""


@runtime_checkable
class HasGroups(SimulatedPerson, Protocol):
    """The platform has groups of people that can be responders."""

    async def join_group(self) -> str:
        """Become the only member of a new group; returns its id."""

    async def leave_group(self, group: str) -> None:
        """Leave a group, without the platform telling the service."""


@runtime_checkable
class HasLateEdits(Stage, Protocol):
    """The platform may carry out an edit after its caller has given up."""

    def delay_next_edit(self) -> None:
        """Break the connection of the next edit of a message, and do not carry the edit out yet."""

    async def carry_out_edit(self) -> None:
        """Let the delayed edit happen now."""


@runtime_checkable
class HasLatePosts(Stage, Protocol):
    """The platform may carry out a post after its caller has given up, and posted again."""

    def delay_next_post(self) -> None:
        """Break the connection of the next post of a message, and do not carry the post out yet."""

    async def carry_out_post(self) -> None:
        """Let the delayed post happen now."""


@runtime_checkable
class HasOwnHistory(HasLatePosts, Protocol):
    """The bot can read what it has posted."""

    def count_messages(self, ask: Ask) -> int:
        """Return how many messages show an ask at its place."""

    def lose_next_post_result(self) -> None:
        """Carry out the next post of a message, and break its connection before it is answered."""

    def forbid_edits(self, *, forbidden: bool) -> None:
        """Let the app edit no message from now on, for a reason that only the operator can fix; or let it again."""


@runtime_checkable
class HasSecondMessages(SimulatedPerson, Protocol):
    """A post that is carried out late can leave a second message of an ask."""

    async def look_at_second_message(self, ask: Ask) -> bool:
        """Look at the message of an ask, with controls, that is not its live message; returns whether there is one."""

    async def sees_no_second_message(self, ask: Ask) -> None:
        """Wait until no other message than the live one has controls of the ask."""


@runtime_checkable
class HasTokens(Stage, Protocol):
    """The platform identifies the service by a token."""

    def refuse_token(self, *, refused: bool) -> None:
        """Refuse the service's token from now on, or accept it again."""


@runtime_checkable
class HasUnnoticedChanges(Stage, Protocol):
    """The platform may change without telling a service that is down."""

    def delete_unnoticed(self, ask: Ask) -> None:
        """Delete the live message of an ask."""

    def close_place_unnoticed(self, *, closed: bool) -> None:
        """Make the stage's place one where nobody can be asked any more, or open it again."""

    async def restart_after_gap(self) -> None:
        """`Stage.restart`; the service looks at once for what happened in the meantime."""


@runtime_checkable
class HasKills(Stage, Protocol):
    """The service can be killed."""

    async def kill(self) -> None:
        """End the service in the middle of what it does, and start it again on the same store."""


@runtime_checkable
class HasBatches(SimulatedPerson, Protocol):
    """A list of what waits for a person, in which permissions can be decided together."""

    async def list_tickable(self, *, allow: bool) -> Mapping[str, str]:
        """Open the list, and return what can be ticked on its first page to be allowed or else denied together: of
        each ask its id, and all that the person reads of it in the list."""

    async def decide_ticked(self, ask_ids: Sequence[str], *, allow: bool) -> str:
        """Tick asks in the list as it was last opened, and allow or deny them; returns what the person then reads."""


@runtime_checkable
class HasGrants(SimulatedPerson, Protocol):
    """People can allow again for a while what an approval asks for, and revoke that."""

    async def read_grant_form(self) -> str:
        """Open the form of "Allow again for…" and return its text; it is closed again."""

    async def allow_again(self, uses: int) -> None:
        """Allow the same again so many times, for as long and for what the form starts with."""

    async def revoke(self) -> None:
        """Use Revoke on an approval that a grant was made with, or that a grant allowed."""


@runtime_checkable
class HasEdits(SimulatedPerson, Protocol):
    """People can change a call before they allow it, in a form."""

    async def edit_call(self, **arguments: str) -> str:
        """Open the form of "Edit, then allow", change these arguments and submit it; return what is wrong."""


@runtime_checkable
class HasCommands(SimulatedPerson, Protocol):
    """People can type commands, which are answered to them alone."""

    async def give_command(self, line: str) -> str:
        """Type what follows ``/answerback``; return the answer, which nobody else may read."""

    async def press_below_answer(self, label: str) -> str:
        """Press a button of the last answer; return what replaces it."""


@runtime_checkable
class HasRemoval(Stage, Protocol):
    """The bot can be removed from the stage's place, and added again."""

    async def remove_bot(self) -> None:
        """Remove the bot; the platform tells the service."""

    async def add_bot(self) -> None:
        """Add it again; the platform tells the service."""


@runtime_checkable
class HasDirectMessages(Stage, Protocol):
    """The bot can write to people in private, where nobody else sees a question."""

    async def add_person_alone(self, name: str, *, reachable: bool = True) -> SimulatedPerson:
        """Return a new person, as they see their own conversation with the bot.

        If they are not ``reachable``, the platform lets the bot write nothing to them.
        """


@runtime_checkable
class HasPlaces(Stage, Protocol):
    """There are kinds of place besides the stage's own and direct messages, such as threads."""

    async def other_places(self) -> Mapping[str, Destination]:
        """Return a new place of each kind, by its name, which everybody who was added sees."""


class Capability(Enum):
    """A feature that not every platform has; its value is what a simulated person, or else the stage, then is."""

    BUTTONS = HasButtons
    MODALS = HasModals
    PRIVATE_NOTES = HasPrivateNotes
    TYPED_ANSWERS = HasTypedAnswers
    SENT_FILES = HasSentFiles
    FILE_FORMS = HasFileForms
    NOTES = HasNotes
    REMINDERS = HasReminders
    MENTIONS = HasMentions
    ASKING_BACK = HasAskingBack
    DELETION = HasDeletion
    RATE_LIMITS = HasRateLimits
    PAYLOADS = HasPayloads
    GROUPS = HasGroups
    LATE_EDITS = HasLateEdits
    LATE_POSTS = HasLatePosts
    OWN_HISTORY = HasOwnHistory
    SECOND_MESSAGES = HasSecondMessages
    TOKENS = HasTokens
    KILLS = HasKills
    UNNOTICED_CHANGES = HasUnnoticedChanges
    BATCHES = HasBatches
    GRANTS = HasGrants
    EDITS = HasEdits
    COMMANDS = HasCommands
    REMOVAL = HasRemoval
    DIRECT_MESSAGES = HasDirectMessages
    PLACES = HasPlaces


C = TypeVar("C", bound=Callable[..., object])


def requires_capability(capability: Capability) -> Callable[[C], C]:
    """Mark a contract test, or all tests of a class, as for platforms that have this capability, too."""

    def mark(part: C) -> C:
        cases = vars(part).values() if isinstance(part, type) else [part]
        for case in cases:
            if inspect.isfunction(case):
                needs = {capability, *getattr(case, "needs", ())}
                case.needs = needs  # type: ignore[attr-defined] # read by SurfaceContract
        return part

    return mark
