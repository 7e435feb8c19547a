"""OpenSpiel games that are known to load, and their sizes.

The size of a game is known only after enumerating it, which takes seconds for the larger ones, so
the results are listed here. OpenSpiel has more games, and most take parameters;
:func:`accord.load_game` accepts those too.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KnownGame:
    """One OpenSpiel game, with parameters as OpenSpiel writes them."""

    name: str
    infosets: tuple[int, ...]  # per player
    terminals: int


OPENSPIEL_GAMES = (
    KnownGame("kuhn_poker", (6, 6), 30),
    KnownGame("kuhn_poker(players=3)", (16, 16, 16), 312),
    KnownGame("leduc_poker", (468, 468), 5520),
    KnownGame("liars_dice", (12288, 12288), 147420),
    KnownGame("liars_dice(dice_sides=4)", (512, 512), 4080),
    KnownGame("sheriff", (2341, 2340), 16384),
    KnownGame("goofspiel(imp_info=True,num_cards=3)", (45, 45), 216),
    KnownGame("goofspiel(imp_info=True,num_cards=4,points_order=descending)", (81, 81), 576),
    KnownGame("tiny_bridge_2p", (1792, 1792), 53340),
    KnownGame("tiny_hanabi", (2, 6), 36),
    KnownGame("trade_comm(num_items=3)", (30, 36), 6561),
    KnownGame("lewis_signaling", (3, 3), 27),
    KnownGame("first_sealed_auction", (10, 10), 3410),
    KnownGame("blotto", (1, 1), 4356),
    KnownGame("oshi_zumo(coins=4,horizon=4,size=1)", (959, 959), 3864),
    KnownGame("dark_hex(board_size=2)", (33, 101), 216),
    KnownGame("hex(board_size=2)", (13, 16), 24),
    KnownGame("nim(pile_sizes=1;2;3)", (129, 136), 182),
    KnownGame("tic_tac_toe", (180361, 114417), 255168),
    KnownGame("coordinated_mp", (1, 2), 8),
    KnownGame("matching_pennies_3p", (1, 1, 1), 8),
    KnownGame("matrix_bos", (1, 1), 4),
    KnownGame("matrix_brps", (1, 1), 9),
    KnownGame("matrix_cd", (1, 1), 4),
    KnownGame("matrix_coordination", (1, 1), 4),
    KnownGame("matrix_mp", (1, 1), 4),
    KnownGame("matrix_pd", (1, 1), 4),
    KnownGame("matrix_rps", (1, 1), 9),
    KnownGame("matrix_rpsw", (1, 1), 16),
    KnownGame("matrix_sh", (1, 1), 4),
    KnownGame("matrix_shapleys_game", (1, 1), 9),
)
