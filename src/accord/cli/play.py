"""``accord play``: play a game with a mediator, or simulate obedient plays."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord._format import counted, number, safe
from accord.cli.arguments import (
    AsJson,
    GameOrRun,
    PolicyName,
    Silence,
    whole_option,
)
from accord.cli.loading import game_and_policy, k_of, load_policy
from accord.cli.terminal import announced_compilation, print_json, print_table, print_text, say
from accord.deviations.notions import written_k

if TYPE_CHECKING:
    from accord.equilibrium.policy import CorrelatedPolicy
    from accord.game.tree import Game
    from accord.mediator.referee import RefereedPlay, RefereedSeat
    from accord.mediator.seat import Move
    from accord.mediator.timing import Timing
    from accord.play.obedient_plays import ObedientPlays

DEFAULT_PLAYS = 10_000
PROMPT = "your move: "
AGAIN = "?"

CLEAR = "\x1b[2J\x1b[3J\x1b[H"
"""Clears the screen of a terminal, and the lines that have been scrolled away."""

HIDDEN = "-" * 60
"""Printed between two turns if the screen cannot be cleared."""


def play(
    game: GameOrRun,
    policy: PolicyName = None,
    as_players: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="PLAYER",
            help="The player you are: a label or a number. Repeat it for several people who take "
            "turns at this terminal.",
        ),
    ] = None,
    k: Silence = None,
    obey: Annotated[
        bool, typer.Option("--obey", help="Simulate plays in which everybody follows.")
    ] = False,
    plays: Annotated[
        int | None,
        whole_option("N", f"With --obey: the number of plays. Default: {DEFAULT_PLAYS:,}."),
    ] = None,
    seed: Annotated[
        int | None,
        whole_option("S", "Seed of all draws; random by default."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Play as one player or several while the others follow the mediator, or let everybody follow.

    You see your own infosets and, until your K-th deviation, the mediator's recommendations. At
    K = 0 it recommends nothing: you let it move for you, or play on your own. Between the turns of
    several people the screen is cleared. Type ? to see where you are and what you are told again.

    \b
    Examples:
        accord play signalling device --as student
        accord play chicken device --as row --as col
        accord play runs/kuhn --obey --plays 100000
    """
    if obey == bool(as_players):
        raise typer.BadParameter(
            "give either --as PLAYER, to play yourself, or --obey, to let everybody follow"
            + ("; not both" if obey else "")
        )
    if not obey and (plays is not None or as_json):
        raise typer.BadParameter("--plays and --json need --obey")

    name, policy = game_and_policy(game, policy)
    with announced_compilation():
        mixture = load_policy(policy, name)
    loaded = mixture.form.game
    if as_players:
        people = [_find_player(loaded, text) for text in as_players]
        if len(set(people)) < len(people):
            raise typer.BadParameter("--as names the same player twice; name each player once")
        _play_as(loaded, mixture, people, k_of(policy) if k is None else k, seed)
        return

    from accord.play.obedient_plays import obedient_plays

    with announced_compilation():
        exact = mixture.values()
        rollout = obedient_plays(mixture, DEFAULT_PLAYS if plays is None else plays, seed)
    rows = _rows(loaded, rollout, exact)
    if as_json:
        print_json({
            "game": loaded.name, "policy": policy, "components": mixture.n_components,
            "plays": rollout.plays, "seed": seed, "confidence": 0.95, "players": rows,
        })  # fmt: skip
        return
    print_text(f"{loaded.name}: {policy}, {counted(rollout.plays, 'play')}, everybody follows\n")
    print_table(
        ("player", "mean", "95% from", "to", "exact"),
        [
            (row["player"], *("" if v is None else number(v) for v in list(row.values())[1:]))
            for row in rows
        ],
    )


def _rows(game: Game, rollout: ObedientPlays, exact: Any) -> list[dict[str, Any]]:
    sided = not math.isnan(rollout.margin[0])
    return [
        {
            "player": label,
            "mean": float(mean),
            "low": float(mean - margin) if sided else None,
            "high": float(mean + margin) if sided else None,
            "exact": float(value),
        }
        for label, mean, margin, value in zip(
            game.player_labels, rollout.mean, rollout.margin, exact, strict=True
        )
    ]


def _find_player(game: Game, text: str) -> int:
    """A player by label or, unless labels are numbers themselves, by number from 1."""
    labels = game.player_labels
    if text in labels:
        return labels.index(text)
    numbers = [str(n + 1) for n in range(len(labels))]
    if not any(map(_is_whole, labels)) and text in numbers:
        return numbers.index(text)
    raise typer.BadParameter(f"--as must be one of the players, {', '.join(labels)}; got {text!r}")


def _play_as(
    game: Game, policy: CorrelatedPolicy, people: list[int], k: float, seed: int | None
) -> None:
    """Run one play in the terminal."""
    import warnings

    from accord.mediator.mediator import Mediator
    from accord.mediator.referee import Referee
    from accord.mediator.timing import TimingWarning

    with announced_compilation(), warnings.catch_warnings():
        warnings.simplefilter("ignore", TimingWarning)
        referee = Referee(Mediator(game, policy, k, seed))
    if len(people) > 1 and (warning := _what_calls_tell(referee.timing, game, people)):
        say(f"warning: {warning}")
    print_text(_introduction(game, people, k))
    session = referee.begin()
    try:
        _play_on(session, people)
    except EOFError:
        say("the input ended before the play did")
        return
    payoffs = session.payoffs
    assert payoffs is not None
    if len(people) > 1:
        values = policy.values()
        print_text("\nThe play is over.")
        for i in people:
            print_text(
                f"{_sentence(game, i)} earned {number(float(payoffs[i]))}. Following the mediator "
                f"earns {number(float(values[i]))} on average."
            )
        return
    (me,) = people
    print_text(f"\nThe play is over: you earned {number(float(payoffs[me]))}.")
    moves = [] if session.seats[me].delegated else list(session.seats[me].moves)
    with announced_compilation():
        lines = _looking_back(policy, me, k, moves)
    for line in lines:
        print_text(line)


def _what_calls_tell(timing: Timing, game: Game, people: list[int]) -> str | None:
    """A warning if people can learn something from who is called to the terminal, and when."""
    from accord.mediator.timing import listed, telling_calls

    if timing.cycle:
        return timing.warning
    if places := telling_calls(game, people):
        return (
            f"at {listed(places)}, who was called to this terminal before tells the player "
            "something that they should not know"
        )
    return None


def _introduction(game: Game, people: list[int], k: float) -> str:
    from accord.game.labels import player_name

    names = [player_name(game.player_labels[i]) for i in people]
    others = " Everybody else follows the mediator." if len(people) < game.n_players else ""
    if len(people) == 1:
        return f"{game.name}: you are {names[0]}.{others}\n{_rule(k)}"
    who = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{game.name}: {who} play at this terminal.{others}\n{_rule(k)}"


def _sentence(game: Game, i: int) -> str:
    """The name of a player at the beginning of a sentence."""
    from accord.game.labels import player_name

    name = player_name(game.player_labels[i])
    return name[0].upper() + name[1:]


def _rule(k: float) -> str:
    if k == 0:
        return "The mediator recommends nothing (K = 0): let it move for you, or play on your own."
    if math.isinf(k):
        return "The mediator advises you, however often you disobey."
    return (
        f"The mediator advises you until you have disobeyed {'once' if k == 1 else f'{k} times'}."
    )


def _play_on(session: RefereedPlay, people: list[int]) -> None:
    """Play to the end. Everybody else delegates."""
    several = len(people) > 1
    for i, seat in enumerate(session.seats):
        if i not in people:
            seat.delegate()
        elif seat.undecided:
            with _privacy(session, i, several):
                seat.delegate() if _delegates() else seat.decline()
    while not session.is_over:
        asked = [i for i in people if session.seats[i].infoset is not None]
        for i in asked:
            with _privacy(session, i, several):
                _make_move(session.seats[i], several)
    if not several:
        _show_delegated(session, people[0])


@contextmanager
def _privacy(session: RefereedPlay, i: int, several: bool) -> Iterator[None]:
    """If several people share the terminal, call player ``i``, and clear the screen in the end."""
    if not several:
        yield
        return
    from accord.game.labels import player_name

    who = player_name(session.seats[i].player)
    print_text(f"\nNext is {who}. Everybody else, please look away.")
    _read(f"{who}, press Enter: ")
    try:
        yield
    finally:  # also if the person leaves
        print(CLEAR if sys.stdout.isatty() else HIDDEN)


def _show_delegated(session: RefereedPlay, me: int) -> None:
    """Print what the mediator played for a person who delegated."""
    seat, game = session.seats[me], session.game
    if not seat.delegated:
        return
    for move in seat.moves:
        print_text(_arrival(game.infoset_labels[me][move.infoset]))
        action = game.action_labels[me][move.infoset][move.action]
        print_text(f"The mediator plays {action} for you.")


def _make_move(seat: RefereedSeat, several: bool) -> None:
    """Ask one person for one move."""
    infoset, actions, told = seat.infoset, seat.actions, seat.recommendation
    assert infoset is not None
    chosen = None
    while chosen is None:
        print_text(_arrival(infoset))
        if len(actions) == 1:
            print_text(f"Your only action is {actions[0]}.")
            if several:  # before the screen is cleared
                _read("press Enter: ")
            chosen = 0
        else:
            print_text("The mediator is silent." if told is None else f"The mediator says: {told}")
            chosen = _ask(actions, None if told is None else actions.index(told))
    seat.act(infoset, chosen)


def _ask(actions: Sequence[str], told: int | None) -> int | None:
    """Ask for an action, by label or, unless labels are numbers themselves, by number.

    None if the person wants to see everything again.
    """
    numbered = not any(map(_is_whole, actions))
    shown = [f"{n} {label}" if numbered else label for n, label in enumerate(actions, 1)]
    hint = "" if told is None else "; Enter follows"
    print_text(f"Your actions: {', '.join(shown)}{hint}")
    while True:
        answer = _read(PROMPT)
        if answer in actions:
            return actions.index(answer)
        if not answer and told is not None:
            return told
        if answer == AGAIN:
            return None
        if numbered and answer in (numbers := [str(n + 1) for n in range(len(actions))]):
            return numbers.index(answer)
        what = f"a number from 1 to {len(actions)} or " if numbered else ""
        print_text(f"Please type {what}one of: {', '.join(actions)}")


def _delegates() -> bool:
    """Whether the mediator should move for the player, at K = 0."""
    while True:
        answer = _read("let the mediator move for you (y or n): ").lower()
        if answer in ("y", "yes", "n", "no"):
            return answer[0] == "y"
        print_text("Please type y or n")


def _read(prompt: str) -> str:
    print(safe(prompt), end="", flush=True)  # input() would write it to standard error
    try:
        answer = input().strip()
    except (EOFError, KeyboardInterrupt):
        print_text()  # the next output starts on a new line
        raise
    if not sys.stdin.isatty():
        print_text(answer)  # show what was piped in
    return answer


def _looking_back(policy: CorrelatedPolicy, me: int, k: float, moves: list[Move]) -> list[str]:
    """What following and the best deviation earn on average, in words."""
    from accord.errors import BudgetError
    from accord.mediator.hindsight import Hindsight

    value = float(policy.values()[me])
    lines = [f"Following the mediator earns {number(value)} on average."]
    try:
        hindsight = Hindsight(policy, me, k)
    except BudgetError as error:
        return [*lines, f"The best deviation is not computed: {error}"]
    plex = policy.plexes[me]
    for n, move in enumerate(moves, 1):
        if move.told is None or move.told == move.action:
            continue
        actions = plex.action_labels[move.infoset]
        lines.append(
            f"At {plex.infoset_labels[move.infoset]!r} you were told "
            f"{actions[move.told]} and played {actions[move.action]}: following from there on was "
            f"worth {number(hindsight.following(moves[:n]))} on average, your move at best "
            f"{number(hindsight.deviating(moves[:n]))}."
        )
    way = "way to play on your own" if k == 0 else f"deviation (K = {written_k(k)})"
    return [*lines, f"The best {way} earns {number(hindsight.best)} on average."]


def _arrival(label: str) -> str:
    """The infoset; a label of several lines, such as a board, is printed as a block."""
    lines = label.strip("\n").splitlines()
    if len(lines) < 2:
        return f"\nYou are at {label!r}."
    return "\n".join(["\nYou are at", *(f"    {line}" for line in lines)])


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit()
