"""The oTree project with both experiments."""

from os import environ

SESSION_CONFIGS = [
    {"name": "chicken_once", "app_sequence": ["chicken_once"], "num_demo_participants": 2},
    {"name": "chicken_twice", "app_sequence": ["chicken_twice"], "num_demo_participants": 2},
]
SESSION_CONFIG_DEFAULTS = {"real_world_currency_per_point": 1.0, "participation_fee": 0.0}
PARTICIPANT_FIELDS: list[str] = []
SESSION_FIELDS: list[str] = []
LANGUAGE_CODE = "en"
REAL_WORLD_CURRENCY_CODE = "EUR"
USE_POINTS = True
ADMIN_USERNAME = "admin"
ADMIN_PASSWORD = environ.get("OTREE_ADMIN_PASSWORD")
SECRET_KEY = environ.get("OTREE_SECRET_KEY", "only for trying it out")
