"""One learner against arbitrary opponents.

The first player of a zero-sum game learns. The second *exploits* (plays a best response to each
policy), *switches* (to another random pure policy, ten times), or plays one *fixed* random policy.
The learner's regret is measured exactly, against all K-EFCE deviations in hindsight. The paper's
learning rate depends on T, so every T is a separate run. A player who never learns is shown for
comparison.

The rules were written down before any of the runs, and the seeds had not been used before. They
decide the opponents' policies, the learner's episodes and, where the opponent exploits and nothing
else is random, the payoffs of the game. An earlier series of runs suggested the lengths.

    bound      in every run, the regret is at most the theorem's bound; the bound must be below T
               at the largest T of every series with full feedback
    full       over the last decade of T, the exponent of the median regret over seeds exceeds the
               claimed 1/2 by at most the tolerance that every claim uses
    bandit     likewise, the exponent is below 1 by at least that tolerance: sublinear
    control    against the opponent who exploits, that of the player who never learns is not
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from accord._arrays import CHANCE, TERMINAL, Floats
from accord.deviations.notions import checked_k, clipped_k
from accord.equilibrium.gap import RegretMeter
from accord.game.tree import Game
from accord.interop.load import load_game
from accord.learning.balanced_kefr import BalancedKEFR
from accord.learning.kefr import KEFR
from accord.learning.theory.bounds import bandit_regret_bound, regret_bound
from accord.regret.rates import bandit_learning_rate
from accord.regret.swrhedge import SWRHedge
from accord.regret.wrhedge import WRHedge
from accord.reports.chart import DASHES, HALF, chart, decades, drawing, end_labels, margin
from accord.reports.colors import INK, MUTED, SERIES
from accord.treeplex.form import SequenceForm, sequence_form
from accord.treeplex.strategy import pure_behavior, random_behavior, uniform_behavior
from accord.treeplex.values import best_response, immediate_loss, joint_reach
from paper.frame import Finding, log_slope, table, write_figure
from paper.scaling import TOLERANCE, order_line

TITLE = "Regret against an adversarial opponent"
CLAIM = r"""
*Corollary F.3 (K-EFCE regret bound for K-EFR).* A player who runs K-EFR with full feedback against
arbitrary, possibly adversarial opponents has a $K$-EFCE regret of at most
$\mathcal{O}\big(\sqrt{H^4\binom{H}{K\wedge H}X_iA_i^{K\wedge H}T\log A_i}\big)$ after $T$
iterations: it grows at most like $\sqrt T$, so the regret per iteration vanishes.

*Remark after Theorem 7.* The policies of Balanced K-EFR also have sublinear regret. Strictly
speaking this is not the regret of the algorithm, which plays sampling policies instead.
"""

OPPONENTS = ("exploits", "switches", "fixed")
SWITCHES = 10
FAILURE_PROB = 0.05
SEEDS = (100, 101, 102)

LIMIT = {"full": 0.5 + TOLERANCE, "bandit": 1.0 - TOLERANCE}
"""Limits on the exponent of T: the claimed 1/2, and less than 1 for sublinear."""

KUHN, RANDOM = "kuhn", "random"
INFOSETS = {KUHN: 6, RANDOM: 10}
"""X of the player who learns."""

"""The games: Kuhn poker, and zero-sum games with random payoffs."""

_TIMES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def _tasks(
    feedback: str, game: str, ks: tuple[int | str, ...], most: int, *opponents: str
) -> dict[str, dict[str, Any]]:
    return {
        f"{feedback}-{game}-k{k}-{opponent}-seed{seed}": {
            "feedback": feedback,
            "game": game,
            "k": k,
            "opponent": opponent,
            "seed": seed,
            "times": [t for t in _TIMES if t <= most],
        }
        for opponent in opponents
        for k in ks
        for seed in SEEDS
    }


TASKS: dict[str, dict[str, Any]] = {
    **_tasks("full", RANDOM, (0, 1, "inf"), 100_000, "exploits"),
    **_tasks("full", KUHN, (0, 1, "inf"), 1_000_000, "switches"),
    **_tasks("full", KUHN, (0, 1, "inf"), 100_000, "fixed"),
    **_tasks("bandit", KUHN, (0, 1), 30_000, *OPPONENTS),
    **_tasks("none", RANDOM, (1,), 1000, "exploits"),
}
SMALL: dict[str, dict[str, Any]] = {
    **_tasks("full", RANDOM, (0, 1), 3000, "exploits"),
    **_tasks("full", KUHN, (0, 1), 3000, "switches"),
    **_tasks("bandit", KUHN, (1,), 3000, "fixed"),
    **_tasks("none", RANDOM, (1,), 300, "exploits"),
}


def job(
    folder: Path, feedback: str, game: str, k: int | str, opponent: str, seed: int, times: list[int]
) -> dict[str, Any]:
    """Regret and bound, as normalized losses, for every T."""
    run = {"full": _full, "bandit": _bandit, "none": _none}[feedback]
    form, deviations = sequence_form(_game(game, seed)), checked_k(k)
    points = [run(form, deviations, opponent, iterations, seed) for iterations in times]
    return {
        "times": times,
        "regret": [regret for regret, _ in points],
        "bound": [bound for _, bound in points],
    }


def _game(name: str, seed: int) -> Game:
    if name == KUHN:
        return load_game("kuhn_poker")
    game = load_game(f"balanced:infosets=10,ratio=1,seed={seed}")
    return game.replace(reward=game.reward[:, :1] * [1.0, -1.0])  # zero-sum


Opponent = Callable[[int, Floats], Floats]
"""The opponent's policy in iteration t, given the learner's."""


def _opponent(form: SequenceForm, kind: str, iterations: int, seed: int) -> Opponent:
    plex = form.plexes[1]
    rng = np.random.default_rng(seed)
    phases = [
        pure_behavior(plex, rng.integers(plex.n_actions).astype(np.int32)) for _ in range(SWITCHES)
    ]
    fixed = random_behavior(plex, rng)

    def exploit(t: int, behavior: Floats) -> Floats:
        reach = joint_reach(form.plexes, (behavior, fixed))
        return pure_behavior(plex, best_response(plex, immediate_loss(form.leaves, 1, reach))[1])

    if kind == "exploits":
        return exploit
    if kind == "switches":
        return lambda t, behavior: phases[t * SWITCHES // iterations]
    return lambda t, behavior: fixed


def _loss(form: SequenceForm, behavior: Floats, other: Floats) -> Floats:
    return immediate_loss(form.leaves, 0, joint_reach(form.plexes, (behavior, other)))


def _full(
    form: SequenceForm, k: float, kind: str, iterations: int, seed: int
) -> tuple[float, float]:
    plex, opponent = form.plexes[0], _opponent(form, kind, iterations, seed)
    learner = KEFR(plex, k, WRHedge(), iterations=iterations)
    last = loss = None
    for t in range(iterations):
        behavior = learner.recommend()
        other = opponent(t, behavior)
        if other is not last:  # the losses depend only on the opponent
            last, loss = other, _loss(form, behavior, other)
        assert loss is not None
        learner.observe(loss)
    return learner.regret(), regret_bound(plex, k, float(learner.schedule.rate[0]), iterations)


def _none(
    form: SequenceForm, k: float, kind: str, iterations: int, seed: int
) -> tuple[float, float]:
    plex, opponent = form.plexes[0], _opponent(form, kind, iterations, seed)
    behavior, meter = uniform_behavior(plex), RegretMeter(plex, k)
    for t in range(iterations):
        meter.observe(behavior, _loss(form, behavior, opponent(t, behavior)))
    return meter.regret(), float(iterations)


def _bandit(
    form: SequenceForm, k: float, kind: str, iterations: int, seed: int
) -> tuple[float, float]:
    plex, opponent = form.plexes[0], _opponent(form, kind, iterations, seed)
    rate = bandit_learning_rate(form.plexes, 0, clipped_k(plex, k), iterations, FAILURE_PROB)
    learner, meter = BalancedKEFR(plex, k, SWRHedge(rate)), RegretMeter(plex, k)
    play, rng = _Table(form), np.random.default_rng(seed)
    for t in range(iterations):
        learner.begin_iteration()
        behavior = learner.policy()
        other = opponent(t, behavior)
        meter.observe(behavior, _loss(form, behavior, other))
        for episode in range(learner.n_episodes):
            learner.begin_episode(episode)
            learner.end_episode(play.play(learner, other, rng))
    return meter.regret(), bandit_regret_bound(plex, k, rate, iterations, FAILURE_PROB)


class _Table:
    """Plays of the learner, who is the first player, against a policy."""

    def __init__(self, form: SequenceForm) -> None:
        game = form.game
        self.player, self.infoset = game.player.tolist(), game.infoset.tolist()
        self.first_seq = form.plexes[1].first_seq.tolist()
        self.children: list[list[int]] = [[] for _ in self.player]
        self.payoff = [0.0] * len(self.player)  # of the learner, along the path to a node
        for node, reward in zip(game.reward_node.tolist(), game.reward[:, 0], strict=True):
            self.payoff[node] += float(reward)
        for node, above in enumerate(game.parent.tolist()):
            if above >= 0:
                self.children[above].append(node)
                self.payoff[node] += self.payoff[above]
        self.action, self.prob = game.action.tolist(), game.chance_prob.tolist()
        for below in self.children:
            below.sort(key=lambda node: self.action[node])
        self.best = float(form.leaves.best[0])
        self.scale = float(form.leaves.loss_scale[0])

    def play(self, learner: BalancedKEFR, other: Floats, rng: np.random.Generator) -> float:
        """Play once and return the learner's loss."""
        node = 0
        while self.player[node] != TERMINAL:
            below, x = self.children[node], self.infoset[node]
            if self.player[node] == 0:
                node = below[learner.act(x, rng)]
            elif self.player[node] == CHANCE:
                node = below[_draw([self.prob[child] for child in below], rng)]
            else:
                first = self.first_seq[x]
                node = below[_draw(other[first : first + len(below)], rng)]
        return min(max((self.best - self.payoff[node]) * self.scale, 0.0), 1.0)


def _draw(law: Any, rng: np.random.Generator) -> int:
    draw = rng.random()
    for outcome, probability in enumerate(law):
        draw -= probability
        if draw < 0.0:
            return outcome
    return max(outcome for outcome, probability in enumerate(law) if probability > 0.0)


def draw(results: dict[str, dict[str, Any]], out: Path) -> Finding:
    """One figure, one table; whether regret is below the bound and falls per iteration."""
    groups = _groups(results)
    learned = {key: group for key, group in groups.items() if key[0] != "none"}
    idle = next(group for key, group in groups.items() if key[0] == "none")
    rows = []
    below: list[bool] = []  # per series: whether no run is above the bound
    slow: dict[str, list[bool]] = {"full": [], "bandit": []}  # whether it grows no faster
    for (feedback, game, k, opponent), group in learned.items():
        times, regret, bound = group["times"], group["regret"], group["bound"]
        slope, before = _exponent(times, regret, times[-1]), _exponent(times, regret, times[-3])
        speaks = feedback != "full" or bound[-1] < times[-1]
        below.append(bool((group["ratios"] <= 1).all() and speaks))
        slow[feedback].append(slope <= LIMIT[feedback])
        rows.append(
            (
                _shown(k),
                feedback,
                game,
                opponent,
                f"{times[-1]:,}",
                f"{regret[-1]:.3g}",
                f"{math.sqrt(INFOSETS[game] * times[-1]):.3g}",
                f"{bound[-1]:.3g}",
                f"{group['ratios'].max():.2f}",
                f"{before:.2f}",
                f"{slope:.2f}",
                "yes" if below[-1] and slow[feedback][-1] else "**no**",
            )
        )
    idle_slope = _exponent(idle["times"], idle["regret"], idle["times"][-1])
    write_figure(_draw_regret(learned, idle), out / "claim4-regret.svg")
    header = (
        "K", "feedback", "game", "opponent", "T", "regret", "√(XT)", "bound",
        "regret / bound, at most",
        "previous exponent", "exponent", "holds",
    )  # fmt: skip
    text = f"""
The first player learns at the paper's learning rates, in Kuhn poker and in zero-sum games of 10
infosets for each player with random payoffs. The second player *exploits* (knows each policy before
it is played, and plays a best response), *switches* (to another random pure policy, {SWITCHES}
times), or plays one *fixed* random policy. Regret is measured exactly, against all deviations in
hindsight, in losses of at most 1 per iteration. The table shows medians over {len(SEEDS)} seeds.
The bound is the theorem's, with [its constants](../theory/constants.md), for this player and these
rates. The exponent is that of T in the last decade of T; the previous exponent is that of the
decade before it.

These rules were fixed before the runs, whose seeds had not been used before:

- in every run the regret is at most the bound, and with full feedback the bound is below T at the
  largest T;
- with full feedback the exponent exceeds the claimed 1/2 by at most {TOLERANCE:g};
- with bandit feedback the exponent is at most {LIMIT["bandit"]:g}: the regret is sublinear;
- against the opponent who exploits, the exponent of a player who never learns is larger than that.

An earlier series, in which the limits were set after the data, suggested how long the runs should
be. The theorem bounds the regret; it does not say how it grows below the bound.

{table(header, rows)}

The dotted line in the chart is $\\sqrt{{XT}}$. The paper notes that the regret at K is at least the
one at K = 0, which is of the order of $\\Omega(\\sqrt{{X_iT}})$ in some games against some
adversary (Zhou et al. 2018), with a constant that is not stated. So in the worst case no learner
has a regret below the order of this line. One game and one opponent may be easier than the worst:
a regret below the line does not contradict the lower bound. {_between(learned)}

![Regret against T on logarithmic axes, and the bounds](claim4-regret.svg)

The opponents are not easy to play against: the player who never learns and stays uniform has a
regret that grows like T to the power {idle_slope:.2f} (K = 1, random games). With bandit feedback T
counts iterations of several episodes each, and the regret is that of the policies, as in the paper.
"""
    bounded = all(below) and all(slow["bandit"]) and idle_slope > LIMIT["bandit"]
    return Finding(
        text,
        bounded and all(slow["full"]),
        "Consistent with the corollary: the regret is below its bound, and grows no faster than "
        "claimed in the last decade of T.",
        _bound_text(learned),
    )


def _bound_text(groups: dict[tuple[str, ...], dict[str, Any]]) -> str:
    """How often the regret is at most the bound, and how often it could have been above it."""
    runs = sum(group["ratios"].size for group in groups.values())
    held = sum(int((group["ratios"] <= 1).sum()) for group in groups.values())
    speaking = sum(
        len(group["ratios"]) * int((group["bound"] < group["times"]).sum())
        for group in groups.values()
    )
    return (
        f"The regret is at most the bound in {held:,} of {runs:,} runs. It could have been above "
        f"it in {speaking:,}; in the others the bound is no smaller than T."
    )


def _between(groups: dict[tuple[str, ...], dict[str, Any]]) -> str:
    """Where regrets end between the orders of the lower bounds and the upper bounds."""
    ends = [
        (
            group["regret"][-1] / math.sqrt(INFOSETS[game] * group["times"][-1]),
            group["bound"][-1] / group["regret"][-1],
        )
        for (_, game, _, _), group in groups.items()
    ]
    above, below = ((min(ratios), max(ratios)) for ratios in zip(*ends, strict=True))
    return (
        f"The last regrets are {above[0]:.2f} to {above[1]:.2f} times this order, and the bounds "
        f"are {below[0]:.0f} to {below[1]:.0f} times these regrets."
    )


def _groups(results: dict[str, dict[str, Any]]) -> dict[tuple[str, ...], dict[str, Any]]:
    """By feedback, game, K and opponent: medians over seeds, and all regrets over their bounds."""
    runs: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for name, run in results.items():
        runs[tuple(name.split("-")[:4])].append(run)
    return {
        key: {
            "times": np.array(found[0]["times"]),
            "regret": np.median([run["regret"] for run in found], axis=0),
            "bound": np.array(found[0]["bound"]),  # it depends on sizes only
            "ratios": np.array([np.divide(run["regret"], run["bound"]) for run in found]),
        }
        for key, found in runs.items()
    }


def _exponent(times: Any, regret: Any, last: int) -> float:
    """The exponent of T in the decade that ends at ``last``."""
    decade = (times >= last / 10) & (times <= last)
    return log_slope(times[decade], regret[decade])


def _shown(k: str) -> str:
    return k.removeprefix("k").replace("inf", "∞")


def _draw_regret(groups: dict[tuple[str, ...], dict[str, Any]], idle: dict[str, Any]) -> Any:
    """K = 1: all opponents, both feedbacks, and the bounds in Kuhn poker."""
    chosen = {key: group for key, group in groups.items() if key[2] == "k1"}
    width, height = HALF
    with drawing():
        names = [*(f"{key[3]}, {key[0]}" for key in chosen), "never learns", "bound, bandit"]
        figure, axes = chart((width * 1.5, height * 1.3), margin(names))
        axes.set_xscale("log")
        axes.set_yscale("log")
        labels = []
        bounds: dict[str, dict[str, Any]] = {}
        for (feedback, game, _, opponent), group in chosen.items():
            color = SERIES[OPPONENTS.index(opponent)]
            dash = DASHES[feedback == "bandit"]
            times, regret = group["times"], group["regret"]
            axes.plot(times, regret, color=color, ls=dash, lw=1.8, marker="o", ms=3)
            labels.append((float(regret[-1]), f"{opponent}, {feedback}", color))
            longest = len(bounds[feedback]["times"]) if feedback in bounds else 0
            if game == KUHN and len(times) > longest:
                bounds[feedback] = group
        for feedback, group in bounds.items():
            dash = DASHES[feedback == "bandit"]
            axes.plot(group["times"], group["bound"], color=MUTED, ls=dash, lw=1.2)
            labels.append((float(group["bound"][-1]), f"bound, {feedback}", MUTED))
        longest_run = max(bounds.values(), key=lambda group: group["times"][-1])["times"]
        lower = np.sqrt(INFOSETS[KUHN] * longest_run)
        order_line(axes, longest_run, lower)
        labels.append((float(lower[-1]), "√(XT)", MUTED))
        axes.plot(idle["times"], idle["regret"], color=INK, lw=1.2, marker="o", ms=3)
        labels.append((float(idle["regret"][-1]), "never learns", INK))
        every = np.concatenate([group["regret"] for group in chosen.values()])
        axes.set_xlim(min(idle["times"]), max(group["times"][-1] for group in chosen.values()))
        axes.set_ylim(every.min() / 2, 2 * max(group["bound"][-1] for group in bounds.values()))
        decades(axes)
        axes.set_xlabel("iterations T")
        axes.set_title(
            "1-EFCE regret, share of the payoff range, medians", loc="left", fontsize=10,
            color=MUTED,
        )  # fmt: skip
        end_labels(axes, labels)
        return figure
