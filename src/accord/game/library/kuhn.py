"""Kuhn poker for two or more players.

H. W. Kuhn, *A simplified two-person poker*, Contributions to the Theory of Games 1, 1950; for three
players N. Abou Risk and D. Szafron, *Using counterfactual regret minimization to create competitive
multiplayer poker agents*, AAMAS 2010.

There are n + 1 cards; 0 is the lowest. Everybody antes 1 and gets one card. The players in turn
pass or bet 1. Once somebody has bet, each of the others has one turn to pass (fold) or bet (call).
The highest card among the players who bet wins the pot; if nobody bet, the highest card of all
wins.

An infoset is the player's card and the public moves so far: ``"2pb"`` is card 2, a pass and a bet.
With two players the game is zero-sum and worth -1/18 to the first player.
"""

from __future__ import annotations

from accord.errors import ArgumentError
from accord.game.builder import GameBuilder
from accord.game.library.entries import named
from accord.game.tree import Game


@named("kuhn")
def kuhn(players: int = 2) -> Game:
    """Kuhn poker with ``players`` players, at least 2."""
    if not 2 <= players <= 6:
        raise ArgumentError(f"kuhn(): players must be between 2 and 6; got {players}")
    b = GameBuilder(players=players)
    cards = tuple(map(str, range(players + 1)))

    def deal(hand: tuple[str, ...]) -> None:
        if len(hand) == players:
            play(hand, "")
            return
        left = [card for card in cards if card not in hand]
        b.chance({card: 1 / len(left) for card in left}, hand)
        for card in left:
            deal((*hand, card))

    def play(hand: tuple[str, ...], moves: str) -> None:
        history = (*hand, *({"p": "pass", "b": "bet"}[move] for move in moves))
        if is_over(moves, players):
            b.payoff(history, *payoffs(hand, moves))
            return
        i = len(moves) % players
        b.move(history, player=i + 1, infoset=hand[i] + moves, actions="pass bet")
        play(hand, moves + "p")
        play(hand, moves + "b")

    deal(())
    return b.build()


def is_over(moves: str, players: int) -> bool:
    """Whether all have passed, or the first bet has come back to the player who made it."""
    first = moves.find("b")
    return len(moves) == (players if first < 0 else first + players)


def payoffs(hand: tuple[str, ...], moves: str) -> list[int]:
    """The payoff of each player: the pot if they win, minus their ante and bet."""
    players = len(hand)
    bettors = {n % players for n, move in enumerate(moves) if move == "b"}
    paid = [2 if i in bettors else 1 for i in range(players)]
    winner = max(bettors or range(players), key=lambda i: int(hand[i]))
    return [(sum(paid) if i == winner else 0) - paid[i] for i in range(players)]
