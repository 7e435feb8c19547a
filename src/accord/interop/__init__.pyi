"""The public names of ``accord.interop`` and the modules they live in."""

from accord.interop.any_policy import policy_from as policy_from
from accord.interop.efg import read_efg as read_efg
from accord.interop.efg import write_efg as write_efg
from accord.interop.gambit import from_gambit as from_gambit
from accord.interop.gambit import to_gambit as to_gambit
from accord.interop.nfg import read_nfg as read_nfg
from accord.interop.nfg import write_nfg as write_nfg
from accord.interop.openspiel import load_openspiel as load_openspiel
from accord.interop.openspiel_games import openspiel_game as openspiel_game
from accord.interop.openspiel_policies import components_to_device as components_to_device
from accord.interop.openspiel_policies import from_openspiel as from_openspiel
from accord.interop.openspiel_policies import to_openspiel as to_openspiel
from accord.interop.python_code import format_python as format_python
from accord.interop.python_code import write_python as write_python
