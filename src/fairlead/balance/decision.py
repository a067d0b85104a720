"""A decision: where one message goes, and why."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from fairlead.balance.course import Direct, Frame, Moment, Scheduled
from fairlead.balance.elimination import Drop, Step
from fairlead.balance.journal import JournalRow
from fairlead.balance.message import CONTROL
from fairlead.balance.policy import Raw
from fairlead.balance.rules.keyed import number_of


class Explanation(NamedTuple):
    """Why a message went where it went; as a text, the lines that `fairlead explain` prints."""

    steps: list[Step]
    """The eliminations that dropped somebody, in order."""
    ranks: list[tuple[str, str]]
    """Who was left, in the order of the rule, with the value that it compared."""
    decided: str
    """The comparison that decided."""
    deciding_step: str
    """The elimination or choice rule that decided, or the outcome."""
    runner_up: str | None
    """Who would have been next, if anybody."""
    otherwise: str
    """What would have made the runner-up win."""

    def __str__(self) -> str:
        lines: list[str] = []
        for step in self.steps:
            lines.append(f"{step.name}: {step.kept} left")
            lines += [f"    dropped {drop.candidate}: {drop.because}" for drop in step.dropped]
        lines += [
            f"  {place}. {name}: {value}" for place, (name, value) in enumerate(self.ranks, 1)
        ]
        lines += [line for line in (self.decided, self.otherwise) if line]
        return "\n".join(lines)


class Decision(msgspec.Struct, frozen=True, gc=False):
    """Where one message goes."""

    destination: str | None
    """None unless `outcome` is `routed`."""
    address: str | None
    """The destination's, if the cluster's file gives one."""
    outcome: str
    """`routed`, `no-destination`, `control`; under ibm-mq `unknown-queue`, `put-inhibited`, too."""
    sequence: int | None
    """The message's place in its stream, from 0; None for a control message, which has none."""
    cluster: str
    """"" where the message names none and there are several."""
    raw: Raw
    """The routing attributes that the policy read, "" where one was not given."""
    frame: Frame | None = None
    """The cluster as it was, for `explain`; None where no cluster was asked."""
    start: Scheduled | Direct | None = None
    """The stretch of choices it belongs to, for `explain`; None where the rule was not asked."""
    place: int = 0
    """How many events of the stretch came before."""
    bound_to: Raw = ()
    """What binds the message to an earlier one's destination, if anything does."""
    key: str = ""
    """By which the destination was chosen, under a policy that asks for one."""

    @property
    def moment(self) -> Moment | None:
        """The state of the cluster just before this choice; None where no cluster was asked."""
        if self.frame is None:
            return None
        key = number_of(self.key, self.sequence or 0)
        return Moment(self.frame, self.start, self.place, self.bound_to, key)

    @property
    def stream(self) -> str:
        """The stream's name: the cluster, and the queue or subject where the policy has one."""
        parts = (self.cluster, *(self.frame.policy.stream(self.raw) if self.frame else ()))
        return "/".join(part for part in parts if part)

    def explain(self) -> Explanation:
        """Each step with whom it dropped and why, the comparison that decided, the runner-up."""
        moment = self.moment
        if moment is None:
            named = (
                f"there is no cluster {self.cluster!r}" if self.cluster else "no cluster is named"
            )
            control = "a SetPriority message is no work: nobody is chosen for it"
            line = control if self.outcome == CONTROL else named
            return Explanation([], [], line, self.outcome, None, "")
        return explain(moment, self.raw, self.destination)

    def journal(self, position: int, message_id: str = "", time: int | None = None) -> JournalRow:
        """The decision as a row of the journal; `time` in microseconds since the epoch."""
        why = self.explain()
        return JournalRow(
            position,
            time,
            message_id,
            self.cluster,
            self.frame.version if self.frame else 0,
            self.stream,
            self.sequence,
            self.destination,
            self.outcome,
            1,
            why.deciding_step,
            why.runner_up,
        )


def explain(moment: Moment, raw: Raw, destination: str | None) -> Explanation:
    """Why, at this moment, a message of this class went to this destination."""
    names = moment.members
    if moment.bound_to:
        told = f"bound: {' / '.join(part for part in moment.bound_to if part)}"
        return Explanation(
            [Step("bound", (), 1)], [(destination or "", told)], told, "bound", None, ""
        )
    verdict, steps = moment.eliminate(raw)
    steps = [step for step in steps if step.dropped or step.name == "candidates"]
    last = steps[-1].name if len(steps) > 1 else verdict.outcome
    if not verdict.members:
        return Explanation(steps, [], f"{verdict.outcome}: nobody is left", last, None, "")
    if verdict.taken >= 0:
        return Explanation(steps, [(names[verdict.taken], "chosen at once")], "", last, None, "")
    rule = moment.rule()
    compared = rule.compare(verdict.members, names)
    if compared.passed_over:
        passed = tuple(Drop(names[rank.member], rank.value) for rank in compared.passed_over)
        steps = [*steps, Step(rule.name, passed, len(compared.ranks))]
    ranks = [(names[rank.member], rank.value) for rank in compared.ranks]
    if len(ranks) < 2:
        decided = "the only one left" if ranks else "nobody can take a message now"
        step = steps[-1].name if len(steps) > 1 else rule.name
        return Explanation(steps, ranks, decided, step, None, "")
    return Explanation(steps, ranks, compared.decided, rule.name, ranks[1][0], compared.otherwise)
