"""Compares a thread's conversation with the client's: whether they agree, and which messages are repeated.

Theory. A client keeps a conversation of its own, and may drop an answer, edit a message, or miss what came from others.
So each of its requests is held against the thread's log. What a run was asked stands there under the client's ids. A
new message under an id that the thread has is asked again: the thread goes on from before that run. One under a new id
is a next message, whatever else the client lacks: it may come from another page. Then the client gets all messages as
the thread has them. So the two never part without a word, and a next message takes nothing back of another page's.

An id that two runs were asked under says nothing: some clients give all their messages the same one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter
from typing import Any

from msgspec import Struct

from hosting.core.thread.events import Event, Joined
from hosting.core.thread.run import Over, Run
from hosting.features.ag_ui.fold import RunFold
from hosting.features.ag_ui.messages import Message, asked_messages, conversation_mark, mark
from hosting.features.ag_ui.requests import RunInput, own_prefix
from hosting.http.wire_runs import fold_runs, is_kept, waited_calls
from hosting.names import Address

MOST_TURNS = 200
"""So many of the newest turns a client gets."""

_UNCOMPARED = frozenset(("reasoning", "activity"))


def wire_fields(run_input: RunInput, *, agreed: bool) -> dict[str, Any]:
    """Return the log's record of a request: its id, its messages, and the mark of all if the thread agreed."""
    messages = [[message["id"], mark(message)] for message in run_input.fresh]
    page = {"page": conversation_mark((*run_input.past, *run_input.fresh))} if agreed else {}
    return {"run_id": run_input.run_id, "asked": messages, **page}


class Turn(Struct, frozen=True):
    """The messages that a run was `asked`, by ids and marks, and those that it has `shown`.

    `is_kept`: the model sees it from then on. `page` stands for all that its client had sent, if the thread agreed.
    """

    run: Run
    prefix: str
    asked: Sequence[Message]
    marks: Sequence[str]
    shown: Sequence[Message]
    page: str | None = None

    @property
    def left_nothing(self) -> bool:
        """Whether it is over, and the model sees nothing of it, nor of its messages in another run."""
        return isinstance(self.run.state, Over) and not self.is_kept and not self.has_joined

    @property
    def has_joined(self) -> bool:
        """Whether its messages are those of the run that took it."""
        return isinstance(self.run.end, Joined)

    @property
    def is_kept(self) -> bool:
        """Whether the model sees it from then on."""
        return is_kept(self.run)

    @property
    def is_of_wire(self) -> bool:
        """Whether a client of this wire began it, or an approval of such a run continued it."""
        return "asked" in (self.run.accepted.wire or {}) or bool(self.run.accepted.request.decisions)


def turns_of(address: Address, log: Iterable[tuple[int, Event]], *, names_causes: bool = False) -> list[Turn]:
    """Return the turns of these events of a thread; `names_causes` as in `RunFold`."""

    asked: dict[str, Sequence[Message]] = {}

    def begin(run: Run, before: dict[str, RunFold]) -> RunFold:
        asked[run.run_id] = asked_messages(run)
        asking = (fold.run for fold in reversed(before.values()) if fold.run.requested_approvals)
        waited = next(map(waited_calls, asking), {}) if run.accepted.request.decisions else {}
        nobody = RunInput(run.accepted.thread_id, run.run_id, (), (), (), is_versioned=True)
        return RunFold(nobody, run, waited, asked, names_causes=names_causes)

    return [_turn(fold) for fold in fold_runs(address, log, begin).values()]


def _turn(fold: RunFold) -> Turn:
    run = fold.run
    wire = run.accepted.wire or {}
    prefix = own_prefix(wire.get("run_id") or run.run_id)
    asked = asked_messages(run)
    stored = [known for _, known in wire.get("asked") or ()] or [None] * len(asked)
    marks = [known or mark(message) for known, message in zip(stored, asked, strict=False)]
    return Turn(run, prefix, asked, marks, fold.shown, wire.get("page"))


class LoggedThread(Struct, frozen=True):
    """A thread as its log has it: the `older` messages, and its turns. Not `is_whole`: more was before.

    `puts` are messages that were put in between the turns, by their positions.
    """

    older: Sequence[Message]
    turns: Sequence[Turn]
    is_whole: bool
    puts: Sequence[tuple[int, Sequence[Message]]] = ()

    def messages(self, before: int | None = None, reserved: Collection[str] = ()) -> tuple[list[Message], list[str]]:
        """Return the stored messages before that position, and their marks.

        No two have one id, and none has a `reserved` one.
        """
        turns = [turn for turn in self.turns if turn.is_kept and (before is None or turn.run.first < before)]
        ids, messages, marks = set(reserved), list[Message](), list[str]()
        for message in () if len(turns) > MOST_TURNS else self.older:
            messages.append(message)
            marks.append(mark(message))
        last = math.inf if before is None else before
        first = turns[-MOST_TURNS].run.first if len(turns) > MOST_TURNS else 0
        groups: list[tuple[int, Turn | Sequence[Message]]] = [(turn.run.first, turn) for turn in turns[-MOST_TURNS:]]
        groups += [put for put in self.puts if first < put[0] < last]
        for _, group in sorted(groups, key=itemgetter(0)):
            if not isinstance(group, Turn):
                messages += group
                marks += map(mark, group)
                continue
            for number, message in enumerate((*group.asked, *group.shown)):
                is_taken = message["id"] in ids
                messages.append({**message, "id": f"{group.run.run_id}:asked-{number}"} if is_taken else message)
                ids.add(message["id"])
            marks += [*group.marks, *map(mark, group.shown)]
        return messages, marks

    def agrees(self, past: Sequence[Message], before: int | None = None) -> bool:
        """Return whether a client's messages are those of the runs before that position.

        What it has of runs that left nothing, because they failed, is its own matter.
        """
        left = [turn for turn in self.turns if turn.left_nothing]
        kept_prefixes = {turn.prefix for turn in self.turns if turn.is_kept}
        prefixes = tuple(turn.prefix for turn in left if turn.prefix not in kept_prefixes)
        names = {message["id"] for turn in left for message in turn.asked}
        names -= {message["id"] for turn in self.turns if turn.is_kept for message in turn.asked}
        compared = (message for message in past if message["role"] not in _UNCOMPARED)
        sent = [
            mark(message) for message in compared if not (message["id"] in names or message["id"].startswith(prefixes))
        ]
        _, marks = self.messages(before)
        is_cut = not self.is_whole or sum(turn.is_kept for turn in self.turns) > MOST_TURNS
        return sent == marks or bool(is_cut and marks and sent[-len(marks) :] == marks)

    def own(self, key: str) -> Turn | None:
        """Return the turn of the run that the client began under this id; None where there is none."""
        return next((turn for turn in self.turns if turn.run.accepted.key == key), None)

    def asked_again(self, run_input: RunInput) -> tuple[list[Turn], int]:
        """Return the turns that a request takes back, and how many of its new messages the thread has already.

        The first of the turns was asked what is asked again; there are none where the request brings a next message,
        and then those before it may be known. A client that names its version gives each message an id of its own, as
        the protocol has it. Of another one the first message again, with another text, may be its second under the only
        id that it knows. A message that joined a run is no turn of its own: again, it is a next message.
        """
        later = self._later(run_input)
        repeats = self._repeats(later, run_input)
        if not repeats:
            return [], 0
        users = [message for message in run_input.fresh if message["role"] == "user"]
        is_edited = any(message["id"] in repeats and repeats[message["id"]][1] != mark(message) for message in users)
        if not is_edited and users[-1]["id"] not in repeats:
            return [], max(
                number for number, message in enumerate(run_input.fresh, start=1) if message["id"] in repeats
            )
        if is_edited and not run_input.is_versioned and not run_input.past and len(later) == 1:
            return [], 0
        own = [turn.run.first for turn, _ in repeats.values() if not turn.has_joined]
        return [turn for turn in later if own and turn.run.first >= min(own) and not turn.has_joined], 0

    def _later(self, run_input: RunInput) -> list[Turn]:
        """Return the turns after the last answer that the client has, without turns that left nothing."""
        names = [message["id"] for message in run_input.past if message["role"] == "assistant"]
        firsts = [turn.run.first for turn in self.turns if any(name.startswith(turn.prefix) for name in names)]
        last = max(firsts, default=0)
        return [turn for turn in self.turns if turn.run.first > last and not turn.left_nothing]

    def _repeats(self, later: Sequence[Turn], run_input: RunInput) -> dict[str, tuple[Turn, str]]:
        """Return which of a user's new messages were asked in which of these turns, with their marks there."""
        turns = [turn for turn in self.turns if not turn.left_nothing]
        counts = Counter(message["id"] for turn in turns for message in turn.asked)
        names = {message["id"] for message in run_input.fresh if message["role"] == "user"}
        return {
            message["id"]: (turn, stored)
            for turn in later
            for message, stored in zip(turn.asked, turn.marks, strict=True)
            if message["id"] in names and message["role"] == "user" and counts[message["id"]] == 1
        }
