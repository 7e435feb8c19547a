"""What both experiments share: a referee per game, and a play as JSON text in oTree's database.

oTree keeps the text in a field of the group. Every request reads it, lets Accord's referee decide,
and writes it back, so an experiment survives a restart of the server. The text is secret: with the
policy it gives every recommendation. Nothing in here imports oTree.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from typing import Any

import games

import accord


@cache
def referee(name: str) -> accord.Referee:
    """The referee of a game in ``games.py``."""
    game, policy = getattr(games, name)()
    return accord.Referee(accord.Mediator(game, policy, k=1))


def begin(name: str, id: str) -> str:
    """The text of a new play."""
    return json.dumps(referee(name).begin(id).to_json())


def is_over(name: str, text: str) -> bool:
    """Whether a play has ended."""
    return referee(name).resume(json.loads(text)).is_over


def moves(name: str, text: str, player: int) -> list[tuple[str, str | None, str]]:
    """The (infoset, recommendation, action) of a player's moves, for the data."""
    play = referee(name).resume(json.loads(text))
    game = play.game
    labels, actions = game.infoset_labels[player], game.action_labels[player]
    return [
        (labels[x], None if told is None else actions[x][told], actions[x][a])
        for x, told, a in play.seats[player].moves
    ]


def answer(name: str, text: str, player: int, message: Any) -> tuple[str, dict[int, Any]]:
    """The text after a message of a page, and the messages to send, by oTree's player number.

    A move is ``{"infoset": ..., "action": ...}``; anything else asks for the player's view. A move
    that cannot be made, or was made before, changes nothing. The others get a message only if their
    view has changed, so nobody learns who has moved before all have.
    """
    play = referee(name).resume(json.loads(text))
    before = views(play)
    if isinstance(message, dict) and "action" in message:
        with suppress(accord.AccordError):
            play.seats[player].act(str(message.get("infoset")), str(message["action"]))
    after = views(play)
    changed = {i for i, view in enumerate(after) if view != before[i]} | {player}
    return json.dumps(play.to_json()), {i + 1: after[i] for i in sorted(changed)}


def views(play: Any) -> list[dict[str, Any]]:
    """What each player may see now."""
    payoffs = play.payoffs
    return [
        {
            "over": play.is_over,
            "infoset": seat.infoset,
            "actions": list(seat.actions),
            "told": seat.recommendation,
            "payoff": None if payoffs is None else float(payoffs[i]),
        }
        for i, seat in enumerate(play.seats)
    ]
