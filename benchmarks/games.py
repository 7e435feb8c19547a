"""What is played."""

from __future__ import annotations

GAMES = {
    "Kuhn": "kuhn_poker",
    "Kuhn, 3 players": "kuhn_poker(players=3)",
    "Sheriff, small": "sheriff(max_bribe=2,max_items=3,num_rounds=2)",
    "Goofspiel 4": "goofspiel(imp_info=True,num_cards=4,points_order=descending)",
    "Leduc": "leduc_poker",
    "Liar's Dice 4": "liars_dice(dice_sides=4)",
    "Sheriff": "sheriff",
    "Liar's Dice 6": "liars_dice",
}
"""What they are called in tables, and what :func:`accord.load_game` knows them by, small ones
first. The defaults of ``learn`` were tuned on them."""

HELD_OUT = {
    "First-price auction, 3 players": "first_sealed_auction(max_value=6,players=3)",
    "Kuhn, 4 players": "kuhn_poker(players=4)",
    "Goofspiel 4, 3 players": (
        "goofspiel(imp_info=True,num_cards=4,players=3,points_order=descending)"
    ),
    "Sheriff, 3 rounds": "sheriff(max_bribe=3,max_items=5,num_rounds=3,sheriff_penalty=2.0)",
    "Battleship": (
        "battleship(allow_repeated_shots=False,board_height=2,board_width=2,loss_multiplier=2.0,"
        "num_shots=3,ship_sizes=[1],ship_values=[1])"
    ),
    "Oshi-Zumo": "oshi_zumo(coins=4,horizon=4,size=1)",
    "Goofspiel 5, total points": (
        "goofspiel(imp_info=True,num_cards=5,points_order=ascending,returns_type=total_points)"
    ),
    "Liar's Dice 5": "liars_dice(dice_sides=5)",
}
"""Games on which nothing was tuned. They were fixed before any method had been run on them: two to
four players, with opposite interests and without."""
