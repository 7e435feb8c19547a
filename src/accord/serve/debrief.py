"""Looking back at a play: what following was worth where a player disobeyed.

The numbers come from ``mediator/hindsight.py``: expected payoffs given everything that the player
knew. They depend on the policy and on the player's own moves, not on what the others were told.
That is shown too, if the operator allows it, in a part of its own.
"""

from __future__ import annotations

from accord._format import one_line, pretty
from accord.certifying.certificate import FirstDeviation
from accord.errors import ArgumentError
from accord.mediator.seat import Move
from accord.serve.design import Treatment
from accord.serve.hall import Hall
from accord.serve.messages import Messages


def own_lines(hall: Hall, t: Messages, play: str, player: int) -> list[str]:
    """What following was worth at each recommendation that the player disobeyed, and whether advice
    that no obedient player hears was a threat."""
    treatment = hall.treatment_of(play)
    moves = hall.moves(play)[player]
    told = [move for move in moves if move.told is not None]
    if not treatment.hindsights or not told:
        return []
    lines = []
    for n, move in enumerate(moves, 1):
        if move.told is None:
            continue
        infoset, said, did = _words(hall, t, player, move, "moves.own_turn")
        if (threat := _threat(hall, treatment, player, moves[:n])) is not None:
            better, gain = one_line(threat.plays), pretty(threat.gain_there, 3)
            lines.append(
                t.text("debrief.threat", infoset=infoset, told=said, better=better, gain=gain)
            )
            continue
        if move.told == move.action:
            continue
        try:
            following = treatment.hindsights[player].following(moves[:n])
            deviating = treatment.hindsights[player].deviating(moves[:n])
        except ArgumentError:  # it has probability 0 unless somebody else disobeyed
            lines.append(t.text("debrief.off_path", infoset=infoset))
            continue
        lines.append(
            t.text(
                "debrief.disobeyed",
                infoset=infoset,
                told=said,
                action=did,
                following=pretty(following),
                deviating=pretty(deviating),
            )
        )
    return lines or [t.text("debrief.obeyed")]


def _threat(
    hall: Hall, treatment: Treatment, player: int, moves: tuple[Move, ...]
) -> FirstDeviation | None:
    """The last recommendation to a player who has obeyed before, if it is a threat."""
    *before, (x, told, _) = moves
    if told is None or any(move.told != move.action for move in before):
        return None
    game = hall.game
    place = game.infoset_labels[player][x], game.action_labels[player][x][told]
    return treatment.threats.get((game.player_labels[player], *place))


def average_line(hall: Hall, t: Messages, play: str, player: int) -> str | None:
    """What following earns on average; None without a mediator."""
    treatment = hall.treatment_of(play)
    if not treatment.mediated:
        return None
    name = t.role(one_line(hall.game.player_labels[player]))
    return t.text("debrief.average", role=name, value=pretty(treatment.values[player]))


def others_lines(hall: Hall, t: Messages, play: str, player: int) -> list[str]:
    """What the other players were told, and what they played."""
    lines = []
    for i, moves in enumerate(hall.moves(play)):
        for move in moves:
            if i != player and move.told is not None:
                infoset, told, action = _words(hall, t, i, move, "moves.other_turn")
                name = t.role(one_line(hall.game.player_labels[i]))
                lines.append(
                    t.text("debrief.other", role=name, infoset=infoset, told=told, action=action)
                )
    return lines


def _words(hall: Hall, t: Messages, player: int, move: Move, turn: str) -> tuple[str, str, str]:
    """The infoset, what was told and what was played, as labels; of players who decide at one place
    only, the text ``turn`` in place of its label."""
    game, x = hall.game, move.infoset
    actions = game.action_labels[player][x]
    told = "" if move.told is None else one_line(actions[move.told])
    known = game.n_infosets[player] > 1
    infoset = one_line(game.infoset_labels[player][x]) if known else t.text(turn)
    return infoset, told, one_line(actions[move.action])
