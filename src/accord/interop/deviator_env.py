"""The deviator's seat as a Gymnasium environment.

One player of a game sees the recommendations of a mediator, may disobey K times and is paid at the
end; all others obey. So any reinforcement learning, tabular or deep, becomes an attacker of a
correlated policy: the best agent gains the player's K-EFCE gap over obeying. What an agent has
found is no proof; ``certify_by_play(..., deviator={player: agent})`` tests it on fresh plays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

from accord.deviations.notions import checked_k
from accord.equilibrium.policy import CorrelatedPolicy, Solved, policy_in
from accord.errors import ArgumentError, MismatchError, MissingDependencyError
from accord.game.tree import Game
from accord.play.environment import Environment, check_environment
from accord.play.game_env import GameEnvironment

if TYPE_CHECKING:
    from accord.interop.gymnasium_env import DeviatorEnv


def deviator_env(
    game: Game | Environment,
    policy: CorrelatedPolicy | Solved,
    player: int | str,
    k: SupportsIndex | float | str = 1,
) -> DeviatorEnv:
    """A Gymnasium environment in which one player may disobey the mediator of ``policy``.

    An observation is a vector of whole numbers (``MultiDiscrete``): 1 plus the number of the
    player's infoset in ``policy``, or 0 if the policy does not know it; then for each of the
    player's decisions 1 plus the recommendation there, or 0 if there was none (yet). An action is
    the number of an action; one that the infoset does not have counts as the recommendation, or as
    0 if there was none. The reward is the player's payoff, at the end of the play. ``info`` has
    ``infoset`` and ``actions`` (their labels), ``recommendation`` (a number, or None),
    ``deviations_left`` and ``action_mask``. If a play ends without a decision of the player, there
    is one step that does nothing, with an observation of zeros.

    Args:
        game: A loaded game or an environment.
        policy: The policy that the mediator recommends from; uniform where it knows nothing.
        player: The deviator, by name or number.
        k: How many recommendations the deviator may disobey.

    Raises:
        ArgumentError: If an argument is out of range.
        MismatchError: If the policy is for another number of players.
        MissingDependencyError: If Gymnasium is not installed.
    """
    try:
        from accord.interop.gymnasium_env import DeviatorEnv
    except ImportError as error:
        raise MissingDependencyError("gymnasium", "pettingzoo") from error
    env = GameEnvironment(game) if isinstance(game, Game) else game
    check_environment(env)
    drawn, players = policy_in(policy), tuple(map(str, env.players))
    if len(players) != len(drawn.plexes):
        raise MismatchError(
            f"{env.name} has {len(players)} players; the policy is for {len(drawn.plexes)}"
        )
    i = players.index(player) if player in players else player
    if i not in range(len(players)):
        raise ArgumentError(
            f"player must be one of {', '.join(players)}, or a number from 0 to "
            f"{len(players) - 1}; got {player!r}"
        )
    return DeviatorEnv(env, drawn, int(i), checked_k(k))
