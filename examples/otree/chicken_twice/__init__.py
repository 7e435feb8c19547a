"""Chicken in two stages: each player privately gets recommendations from a mediator."""

import mediation
from otree.api import (
    BaseConstants,
    BaseGroup,
    BasePlayer,
    BaseSubsession,
    Page,
    WaitPage,
    models,
)

doc = __doc__


class C(BaseConstants):
    NAME_IN_URL = "chicken_twice"
    PLAYERS_PER_GROUP = 2
    NUM_ROUNDS = 1
    ROW_ROLE = "row"  # the players of the game, in its order
    COL_ROLE = "col"
    GAME = "chicken_twice"  # a function in games.py


class Subsession(BaseSubsession):
    pass


class Group(BaseGroup):
    play = models.LongStringField()  # secret; see mediation.py


class Player(BasePlayer):
    pass


def begin(group: Group):
    group.play = mediation.begin(C.GAME, str(group.id))


def custom_export(players):
    """One row per decision, with what was recommended."""
    yield ["session", "participant", "player", "infoset", "recommended", "action", "payoff"]
    for player in players:
        text = player.group.field_maybe_none("play")
        for move in mediation.moves(C.GAME, text, player.id_in_group - 1) if text else ():
            yield [
                player.session.code,
                player.participant.code,
                player.id_in_group,
                *move,
                player.payoff,
            ]


class Begin(WaitPage):
    after_all_players_arrive = begin


class Play(Page):
    @staticmethod
    def live_method(player: Player, message):
        group = player.group
        group.play, messages = mediation.answer(C.GAME, group.play, player.id_in_group - 1, message)
        for other in group.get_players():
            view = messages.get(other.id_in_group)
            if view and view["over"]:
                other.payoff = view["payoff"]
        return messages

    @staticmethod
    def error_message(player: Player, values):
        over = mediation.is_over(C.GAME, player.group.play)
        return None if over else "The play is not over yet."


class Results(Page):
    @staticmethod
    def vars_for_template(player: Player):
        text, own = player.group.play, player.id_in_group - 1
        return {"moves": mediation.moves(C.GAME, text, own)}


page_sequence = [Begin, Play, Results]
