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
first."""
