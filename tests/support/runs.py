"""Runs of learners that keep everything, and one minimizer without a game around it."""

from __future__ import annotations

from typing import Any

import numpy as np

from accord._arrays import Floats
from accord.deviations.rechistory import EXTERNAL, SWAP, RechistoryArrays
from accord.game.tree import Game
from accord.learning.self_play import SelfPlay
from accord.regret.methods import DEFAULT, METHODS
from accord.regret.regret_matching import RegretMatching
from accord.regret.state import MinimizerArrays, recommend
from accord.regret.wrhedge import WRHedge
from accord.treeplex.form import sequence_form
from accord.treeplex.treeplex import TreeplexArrays

MINIMIZERS = {
    **{name: method.config for name, method in METHODS.items()},
    "anytime": WRHedge(anytime=True),
    "undecayed": RegretMatching(),
    "decaying": RegretMatching(decay=0.3),
}
"""Every method of the registry, and some that are configured otherwise."""


def run(
    game: Game, k: float, method: Any = DEFAULT, iterations: int = 10, **options: Any
) -> tuple[SelfPlay, Floats]:
    """Self-play and ``[iterations, n_sequences]`` all its iterates."""
    form = sequence_form(game)
    play = SelfPlay(form, k, method, iterations=iterations, **options)
    kept = np.empty((iterations, form.n_sequences))
    assert play.advance(iterations, kept) == iterations
    return play, kept


def behaviors(game: Game, joint: Floats) -> list[list[float]]:
    """A joint policy as the oracles in ``reference`` want it."""
    return [part.tolist() for part in sequence_form(game).split(joint)]


class OneInfoset:
    """The compiled minimizer of a single infoset, fed with arbitrary time selections.

    Its treeplex has, beside the infoset's own, one sequence per rechistory. They belong to no
    infoset, so kernels only read them: what stands there is S_b.
    """

    def __init__(self, n_actions: int, n_swap: int, n_external: int, schedule: Any) -> None:
        size, n = n_swap + n_external, n_actions
        self.schedule, self.n_nodes, self.first, self.t = schedule, size, 1 + size, 0
        self.plex = TreeplexArrays(
            first_seq=np.array([1 + size, 1 + size + n], np.int32),
            parent_seq=np.zeros(1, np.int32),
            first_child=np.zeros(2 + size + n, np.int32),
        )
        cells = [1] + [n * n] * n_swap + [n] * n_external
        self.tree = RechistoryArrays(
            first_node=np.array([1, 1 + size], np.int32),
            first_external=np.array([1 + n_swap], np.int32),
            parent=np.zeros(1 + size, np.int32),
            rec_seq=np.arange(1 + size, dtype=np.int32),
            parent_cell=np.zeros(1 + size, np.int32),
            first_cell=np.concatenate([[0], np.cumsum(cells)]).astype(np.int32),
            kinds=np.array([SWAP, EXTERNAL], np.int32),
        )
        for array in (*self.plex, *self.tree):
            array.flags.writeable = False  # as in trees that are built
        rec_reach = np.zeros(1 + size)
        rec_reach[0] = 1.0
        self.state = MinimizerArrays(
            behavior=np.ones(1 + size + n),
            loss=np.zeros(1 + size + n),
            cf_loss=np.zeros(1 + size + n),
            rec_reach=rec_reach,
            regret=np.zeros(sum(cells)),
            credit=np.zeros(1 + size),
            deviation_loss=np.zeros(sum(cells)),
            rates=np.zeros(n * n),
            rows=np.zeros(n * n),
            external=np.zeros(n),
        )

    def recommend(self, S: Floats) -> Floats:
        """The next policy when rechistory b has the time selection ``S[b]``, SWAP ones first."""
        self.state.behavior[1 : self.first] = S
        self.t += 1
        recommend(self.schedule, self.plex, self.tree, self.state, 0.0, self.t)
        return self.state.behavior[self.first :].copy()

    def observe(self, loss: Floats) -> None:
        """The losses of the actions."""
        self.state.cf_loss[self.first :] = loss
