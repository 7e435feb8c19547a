"""Random games of every shape, for tests and experiments.

A game grows move by move. Each player keeps a private record of their own moves and of the moves of
others and of chance that they happen to see. The player's infoset is this record, and the actions
there are drawn once per record. Since the record contains the player's own moves, perfect recall
holds by construction. A record holds *what* was seen but not when, so histories of different
lengths may share an infoset.

How often each player moves is drawn per game, and plays may stop early. So the games have uneven
trees, players with different horizons or no decisions, infosets with a single action, plays without
any decision, and unseen chance moves, so that several plays have the same sequences of all players.
"""

from __future__ import annotations

import numpy as np

from accord._check import MAX_SEED, checked_whole
from accord.errors import ArgumentError
from accord.game.builder import GameBuilder
from accord.game.library.entries import named
from accord.game.tree import Game

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@named("random")
def random_game(
    seed: int = 0,
    players: int = 2,
    depth: int = 4,
    actions: int = 3,
    *,
    min_actions: int = 1,
    observe: float = 0.5,
    chance: float = 0.2,
    stop: float = 0.15,
    rewards: float = 0.0,
    levels: int = 9,
) -> Game:
    """A random game; the same arguments give the same game.

    Args:
        seed: Seed of the generator.
        players: Number of players, at least 1.
        depth: Largest number of moves in a play, chance moves included; at least 1.
        actions: Largest number of actions of an infoset and of outcomes of a chance move, at most
            26.
        min_actions: Smallest number of them.
        observe: Probability that a player sees a move of somebody else.
        chance: Probability that a move is a chance move.
        stop: Probability that a play ends at a node, before ``depth``.
        rewards: Probability that an inner node pays something.
        levels: Payoffs are drawn from this many evenly spaced numbers between -1 and 1. Few levels
            make ties; a single one makes every payoff 0.
    """
    for what, value, least, most in (
        ("players", players, 1, 127),
        ("depth", depth, 1, 64),
        ("min_actions", min_actions, 1, len(LETTERS)),
        ("actions", actions, min_actions, len(LETTERS)),
        ("levels", levels, 1, 10**9),
        ("observe", observe, 0, 1),
        ("chance", chance, 0, 1),
        ("stop", stop, 0, 1),
        ("rewards", rewards, 0, 1),
    ):
        if not least <= value <= most:
            raise ArgumentError(
                f"random_game(): {what} must be between {least} and {most}; got {value}"
            )
    rng = np.random.default_rng(checked_whole("random_game(): seed", seed, 0, MAX_SEED))
    b = GameBuilder(players=players)
    grid = np.linspace(-1.0, 1.0, levels) if levels > 1 else np.zeros(1)
    busy = rng.dirichlet(np.ones(players))  # how often each player moves
    n_actions: dict[tuple[int, str], int] = {}

    def grow(history: tuple[str, ...], records: tuple[str, ...], must_decide: bool) -> None:
        left = depth - len(history)
        if left == 0 or (history and not must_decide and rng.random() < stop):
            b.payoff(history, *rng.choice(grid, players))
            return
        if rng.random() < rewards:
            b.reward(history, *rng.choice(grid, players))
        if rng.random() < chance and not (must_decide and left == 1):
            mover, name = None, "c"
            moves = LETTERS[: rng.integers(min_actions, actions + 1)]
            probs = rng.dirichlet(np.ones(len(moves)))
            b.chance(dict(zip(moves, (probs + 0.1) / (1 + 0.1 * len(moves)), strict=True)), history)
        else:
            mover = int(rng.choice(players, p=busy))
            name = str(mover + 1)
            key = (mover, records[mover])
            size = n_actions.setdefault(key, int(rng.integers(min_actions, actions + 1)))
            moves = LETTERS[:size]
            must_decide = False
            b.move(history, player=name, infoset=records[mover] or "start", actions=list(moves))
        sees = [i == mover or rng.random() < observe for i in range(players)]
        for move in moves:
            seen = tuple(
                f"{record} {name}{move}".lstrip() if sees[i] else record
                for i, record in enumerate(records)
            )
            grow((*history, move), seen, must_decide and move == moves[0])

    grow((), ("",) * players, True)
    return b.build()
