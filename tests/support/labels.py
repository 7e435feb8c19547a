"""Games whose labels try to break a page."""

from __future__ import annotations

import accord
from accord.game.tree import Game

NASTY = """</script><img src=x onerror=document.title='x'> & "quoted" 'it' $x_1$"""


def nasty_game() -> Game:
    """One in which every label is an attack."""
    game = accord.load_game("kuhn")
    return game.replace(
        name=f"game {NASTY}",
        player_labels=[f"one {NASTY}", f"two {NASTY}"],
        infoset_labels=[[f"{x} {NASTY}" for x in labels] for labels in game.infoset_labels],
        action_labels=[
            [tuple(f"{a} {NASTY}" for a in actions) for actions in labels]
            for labels in game.action_labels
        ],
        chance_labels=[tuple(f"{a} {NASTY}" for a in labels) for labels in game.chance_labels],
    )
