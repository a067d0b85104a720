"""Why a message went where it went."""

from __future__ import annotations

from typing import NamedTuple

from fairlead.balance.elimination import Drop, Eligible, Step
from fairlead.balance.history import UNKNOWN, Binding, DecisionPoint
from fairlead.balance.message import CONTROL, ON_GROUP, AttributeValues
from fairlead.balance.objects import on_one_line
from fairlead.balance.what_if import WhatIf
from fairlead.balance.words.rule_choices import EVERYONE, TO_EVERYONE, wording


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
    """What would have led to another choice; "" where that cannot be said exactly."""
    notes: tuple[str, ...] = ()
    """What else there is to know: its key, what becomes of its group, why it is lost."""
    also: tuple[str, ...] = ()
    """Everybody who gets the message, where it goes to several; by name."""

    def __str__(self) -> str:
        lines: list[str] = []
        for step in self.steps:
            lines.append(f"{step.name}: {step.kept} left")
            lines += [f"    dropped {drop.candidate}: {drop.because}" for drop in step.dropped]
        lines += [
            f"  {place}. {name}: {value}" for place, (name, value) in enumerate(self.ranks, 1)
        ]
        lines += [line for line in (self.decided, self.otherwise, *self.notes) if line]
        if self.also:
            lines.append(f"it goes to all of these: {', '.join(self.also)}")
        return "\n".join(map(on_one_line, lines))


def not_asked(cluster: str, outcome: str) -> Explanation:
    """Of a message for which no cluster was asked."""
    line = f"there is no cluster {cluster!r}" if cluster else "it names no cluster of several"
    if outcome == CONTROL:
        line = "a SetPriority message is no work: no destination is chosen for it"
    return Explanation([], [], line, outcome, None, "")


def explain(moment: DecisionPoint, values: AttributeValues, destination: str | None) -> Explanation:
    """Why, at this moment, a message of this class went to this destination."""
    eligible, steps = moment.eliminate(values)
    binding = moment.binding
    if binding is not None and binding.follows:
        return _followed(moment, binding, eligible, destination or "")
    explanation = _chosen(moment, values, eligible, steps)
    if binding is not None and (binding.before >= 0 or explanation.ranks):
        explanation = explanation._replace(
            notes=(*explanation.notes, _binding_note(moment, binding))
        )
    if not eligible.recipients:
        return explanation
    every = {moment.members[i] for i in eligible.recipients} | {destination} - {None}
    return explanation._replace(also=tuple(sorted(map(str, every), key=str.encode)))


def _followed(
    moment: DecisionPoint, binding: Binding, eligible: Eligible, name: str
) -> Explanation:
    """Where an earlier message went."""
    word = _word(binding)
    staying = moment.frame.cluster.rebinds and moment.members.index(name) not in eligible.members
    drains = f"{name} is draining: nothing new starts there, but what is there goes on"
    return Explanation(
        [Step("bound", (), 1)],
        [(name, f"where {word} is")],
        f"it follows {word}",
        "bound",
        None,
        "",
        (drains,) if staying else (),
    )


def _binding_note(moment: DecisionPoint, binding: Binding) -> str:
    """What becomes of a group whose message was chosen for."""
    word = _word(binding)
    if binding.before >= 0:
        return f"{word} was at {moment.members[binding.before]}, which has dropped out since then"
    if binding.before == UNKNOWN:
        return f"{word} had nobody to follow: those that come later follow it"
    return f"it is the first of {word}: those that come later follow it"


def _word(binding: Binding) -> str:
    kind, *_, name = binding.key
    if kind == ON_GROUP:
        return f"group {name}"
    return f"producer {name}" if name else "the one that opened, whose name is not given"


def _chosen(
    moment: DecisionPoint, values: AttributeValues, eligible: Eligible, steps: list[Step]
) -> Explanation:
    cluster, names = moment.frame.cluster, moment.members
    steps = [step for step in steps if step.dropped or step.name == "candidates"]
    last = steps[-1].name if len(steps) > 1 else eligible.outcome
    if not eligible.members:
        why = (
            "no candidate is left"
            if steps[0].kept
            else cluster.describe.no_candidates(cluster.key(values))
        )
        return Explanation(steps, [], f"{eligible.outcome}: {why}", last, None, "")
    if eligible.preselected >= 0:
        name = names[eligible.preselected]
        if eligible.recipients:
            return Explanation(steps, [(name, EVERYONE)], TO_EVERYONE, "everyone", None, "")
        return Explanation(steps, [(name, "chosen at once")], "", last, None, "")
    rule = moment.rule()
    words = wording(rule, eligible.members, names)
    order, passed_over = words.found.order, words.found.passed_over
    if passed_over:
        passed = tuple(Drop(names[i], words.passed_over(i)) for i in passed_over)
        steps = [*steps, Step(rule.name, passed, len(order))]
    ranks = [(names[i], words.value(i)) for i in order]
    notes: tuple[str, ...] = ()
    if rule.keyed and moment.word:
        notes = (f"its key is the {cluster.keyed_by} {moment.word!r}",)
    if len(order) < 2:
        decided = words.alone() if order else "no destination can take a message now"
        step = steps[-1].name if len(steps) > 1 else rule.name
        explanation = Explanation(steps, ranks, decided, step, None, "", notes)
    else:
        explanation = Explanation(
            *(steps, ranks, words.decided(), rule.name, words.second),
            *(words.otherwise(WhatIf(moment, values)), notes),
        )
    undeliverable = cluster.describe.undeliverable_reason(order[0]) if order else ""
    if undeliverable:
        explanation = explanation._replace(otherwise="", notes=(*notes, undeliverable))
    return explanation
