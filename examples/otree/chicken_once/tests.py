"""Bots that follow, that always dare, and that send nonsense."""

import inspect
import json

import mediation
from otree.api import Bot, Submission, expect

from . import C, Play, Results


def sent(result):
    """The messages that a live method sends; oTree 6 hands bots an asynchronous generator."""
    if inspect.isasyncgen(result):
        try:
            result.__anext__().send(None)
        except StopIteration as stop:
            return stop.value
    return result


def call_live_method(method, case, group, **_):
    views = {}
    for i in (1, 2):
        views |= sent(method(i, {}))
    while not views[1]["over"]:
        for i in (1, 2):
            view = views[i]
            if view["infoset"] is None:
                continue
            if case == "nonsense":
                for message in ("x", {"action": "fly"}, {"infoset": "stage 9", "action": "dare"}):
                    expect(sent(method(i, message)), {i: view})
            action = "dare" if case == "dares" else view["told"] or "yield"
            message = {"infoset": view["infoset"], "action": action}
            answers = sent(method(i, message))
            if not answers[i]["over"] and len(answers) == 2:
                expect(answers[3 - i]["infoset"], "!=", views[3 - i]["infoset"])
            views |= answers
            views |= sent(method(i, message))  # a double click
    expect(json.loads(group.play)["format"], "accord-refereed-play")


class PlayerBot(Bot):
    cases = ["follows", "dares", "nonsense"]  # noqa: RUF012  (as oTree wants it)

    def play_round(self):
        expect(
            self.player.role,
            mediation.referee(C.GAME).mediator.game.player_labels[self.player.id_in_group - 1],
        )
        yield Submission(Play, check_html=False)
        moves = mediation.moves(C.GAME, self.group.play, self.player.id_in_group - 1)
        if self.case == "dares":
            expect([action for _, _, action in moves], ["dare"] * len(moves))
            expect(self.player.payoff, 0)
        else:
            expect([told for _, told, _ in moves], [action for _, _, action in moves])
            expect(self.player.payoff, ">", 0)
        yield Results
