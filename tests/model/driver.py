"""Plays one history through a model and through doors, and compares all that can be looked at."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from .differences import Difference, differ_on_purpose
from .draws import Draws, Seeded


class Step(NamedTuple):
    """One thing that somebody does: the verb is the name of a method of models and doors."""

    verb: str
    said: dict[str, Any]
    seen: bool = True
    """Whether all is looked at after it: who looks may be who makes happen what is due."""

    def __str__(self) -> str:
        said = ", ".join(f"{key}={value!r}" for key, value in self.said.items())
        return f"{self.verb}({said})" + ("" if self.seen else ", and nobody looks")


class Player(Protocol):
    """A model, or a door: it has a method for each verb.

    Both answer in plain data (numbers, texts, tuples, lists, dicts), so that answers compare. What
    is refused is an answer, too: `Refused`. Handles (work that was taken, decisions that are to be
    completed) stay inside; a history names them by the numbers in which they came.
    """

    name: str

    def look(self) -> dict[str, Any]:
        """All that can be looked at now, by what it is called."""
        ...

    def close(self) -> None:
        """The history is over."""
        ...


class Refused(NamedTuple):
    """The answer of a verb that refuses: the kind of error, in a word of the history's own."""

    why: str


class World(Protocol):
    """What is drawn before the first step, and what draws each step."""

    features: frozenset[str]

    def model(self) -> Player:
        """The model of this world, in which nothing has happened."""
        ...

    def next_step(self, draws: Draws, model: Any) -> Step:
        """The next step; the model says what there is to act on. It must not be changed."""
        ...


class DoorDiffersError(AssertionError):
    """A door answers or shows something else than the model; its text is the whole history."""


def play(
    world: World,
    draws: Draws,
    doors: Sequence[Callable[[Any], Any]],
    steps: int,
    *,
    look_each: int = 1,
) -> list[Step]:
    """Draw so many steps and play each through the model and the doors, one after another.

    `doors`: each makes a door to this world. `look_each`: after how many steps all is looked at.
    Raises DoorDiffersError at the first difference.
    """
    model: Any = world.model()
    opened: list[Any] = []
    history: list[Step] = []
    try:
        opened.extend(door(world) for door in doors)
        for number in range(1, steps + 1):
            step = world.next_step(draws, model)
            history.append(step)
            expected = getattr(model, step.verb)(**step.said)
            for door in opened:
                answer = _answer(door, step)
                _compare(world, door, history, step.verb, expected, answer)
            if (number % look_each == 0 and step.seen) or number == steps:
                _look(world, model, opened, history)
    finally:
        for door in opened:
            door.close()
    return history


class _Written:
    """A world whose steps somebody has written down."""

    def __init__(self, world: Any, steps: Sequence[Step]) -> None:
        self.world = world
        self.features: frozenset[str] = world.features
        self.steps = list(steps)

    def model(self) -> Any:
        return self.world.model()

    def next_step(self, _draws: Draws, _model: Any) -> Step:
        return self.steps.pop(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.world, name)


def follow(world: World, doors: Sequence[Callable[[Any], Any]], steps: Sequence[Step]) -> None:
    """Play these steps, as `play` does what it draws: for what was found, as short as it is."""
    play(_Written(world, steps), Seeded(0), doors, len(steps))


def _answer(door: Any, step: Step) -> Any:
    """What a door answers; what it breaks with differs from every answer."""
    try:
        return getattr(door, step.verb)(**step.said)
    except Exception as error:  # noqa: BLE001 - it is shown, with the history that led to it
        return error


def _look(world: World, model: Any, doors: Sequence[Any], history: list[Step]) -> None:
    """Compare each view that a door has with the model's of that name."""
    expected = model.look()
    for door in doors:
        for what, answer in door.look().items():
            _compare(world, door, history, what, expected[what], answer)


def _compare(
    world: World, door: Player, history: list[Step], what: str, expected: Any, answer: Any
) -> None:
    if answer == expected or differ_on_purpose(door.name, what, world.features):
        return
    lines = [f"{number:4} {step}" for number, step in enumerate(history, 1)]
    raise DoorDiffersError(
        "\n".join(
            [
                f"{door.name}: {what} differs after {len(history)} steps",
                f"world: {world}",
                *lines,
                f"the model: {expected!r}",
                f"{door.name}: {answer!r}",
            ]
        )
    )


__all__ = ["Difference", "DoorDiffersError", "Player", "Refused", "Step", "World", "follow", "play"]
