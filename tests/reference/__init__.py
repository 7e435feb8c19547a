"""The paper in plain Python: slow reference functions, the oracles of every kernel.

Everything here is written from Song, Mei, Bai 2022 as literally as its definitions allow, with
lists, dictionaries and loops, and reads of the package nothing but the attributes of a ``Game``. To
be read beside the paper; labels of its source stand where a definition or equation is used.

Conventions. ``i`` is a player, ``x`` one of her infosets (numbered as in ``Game``), ``a`` an action
there, ``h`` a layer: h - 1 is how many decisions she has made before, so uneven trees are no
exception. Her horizon H is the last layer, and K is read as min(K, H). Action sets may differ. A
*behavior* of a player is a list over her sequences: entry 0 is 1 (the empty sequence), and the
entry ``sequence(game, i, x, a)`` is pi_i(a | x). ``behaviors``, one per player, are a product
policy. A *correlated policy* is a list of ``(weight, behaviors)``.

Losses are normalised: over a whole play player i loses (best_i - u) / (best_i - worst_i), 0 if her
payoff is constant. Gaps are in payoffs, and nothing is clamped at 0.

The paper is mended in three places. A Type-II rechistory ends with its K-th mismatch,
``a_{h'} != b_{h'}``; for K = 0 there is one, the empty one, at every infoset. The second sum of
lemma general-balancing-mu runs over b_{1:h-1}: over b_{1:h} it would count everything A times. And
the opponents' reach of a state, eq. (eqn:pi-i(x)), has only their actions before it.
"""

from __future__ import annotations

from tests.reference.bandit import Episode as Episode
from tests.reference.bandit import balanced_behavior as balanced_behavior
from tests.reference.bandit import balanced_kefr as balanced_kefr
from tests.reference.bandit import balanced_layers as balanced_layers
from tests.reference.bandit import bandit_rate as bandit_rate
from tests.reference.bandit import episode_of as episode_of
from tests.reference.bandit import episodes as episodes
from tests.reference.bandit import estimator_facts as estimator_facts
from tests.reference.bandit import fill as fill
from tests.reference.bandit import loss_estimate as loss_estimate
from tests.reference.bandit import loss_estimates as loss_estimates
from tests.reference.bandit import play_law as play_law
from tests.reference.bandit import sample_play as sample_play
from tests.reference.bandit import sampling_behavior as sampling_behavior
from tests.reference.bandit import sampling_weight as sampling_weight
from tests.reference.bandit import type_one_episodes as type_one_episodes
from tests.reference.bandit import type_two_episodes as type_two_episodes
from tests.reference.game import Terminal as Terminal
from tests.reference.game import actions as actions
from tests.reference.game import children as children
from tests.reference.game import clip as clip
from tests.reference.game import correlated_values as correlated_values
from tests.reference.game import counterfactual_losses as counterfactual_losses
from tests.reference.game import descendants as descendants
from tests.reference.game import expected_values as expected_values
from tests.reference.game import first_infosets as first_infosets
from tests.reference.game import horizon as horizon
from tests.reference.game import immediate_losses as immediate_losses
from tests.reference.game import immediate_payoffs as immediate_payoffs
from tests.reference.game import infosets as infosets
from tests.reference.game import layer as layer
from tests.reference.game import n_players as n_players
from tests.reference.game import n_sequences as n_sequences
from tests.reference.game import node_chance as node_chance
from tests.reference.game import node_children as node_children
from tests.reference.game import node_rewards as node_rewards
from tests.reference.game import node_sequences as node_sequences
from tests.reference.game import normalized_loss as normalized_loss
from tests.reference.game import opponent_reach as opponent_reach
from tests.reference.game import others_reach as others_reach
from tests.reference.game import pair as pair
from tests.reference.game import path as path
from tests.reference.game import payoff_range as payoff_range
from tests.reference.game import prob as prob
from tests.reference.game import pure_behavior as pure_behavior
from tests.reference.game import pure_choices as pure_choices
from tests.reference.game import reach as reach
from tests.reference.game import sequence as sequence
from tests.reference.game import sequence_form as sequence_form
from tests.reference.game import terminals as terminals
from tests.reference.game import uniform_behavior as uniform_behavior
from tests.reference.gaps import best_deviation as best_deviation
from tests.reference.gaps import best_trigger as best_trigger
from tests.reference.gaps import efce_gap as efce_gap
from tests.reference.gaps import nfcce_gap as nfcce_gap
from tests.reference.gaps import nfce_gap as nfce_gap
from tests.reference.gaps import trigger_gap as trigger_gap
from tests.reference.gaps import trigger_value as trigger_value
from tests.reference.kefr import Make as Make
from tests.reference.kefr import full_feedback_rate as full_feedback_rate
from tests.reference.kefr import kefr as kefr
from tests.reference.kefr import replay_kefr as replay_kefr
from tests.reference.minimizers import Matrix as Matrix
from tests.reference.minimizers import RegretMatching as RegretMatching
from tests.reference.minimizers import SWRHedge as SWRHedge
from tests.reference.minimizers import WideRangeRound as WideRangeRound
from tests.reference.minimizers import WRHedge as WRHedge
from tests.reference.minimizers import constant_maps as constant_maps
from tests.reference.minimizers import imbalance as imbalance
from tests.reference.minimizers import is_stationary as is_stationary
from tests.reference.minimizers import stationary as stationary
from tests.reference.minimizers import swap_maps as swap_maps
from tests.reference.minimizers import swapped_loss as swapped_loss
from tests.reference.minimizers import wide_range_bounds as wide_range_bounds
from tests.reference.minimizers import wide_range_regrets as wide_range_regrets
from tests.reference.modifications import execute as execute
from tests.reference.modifications import execution_law as execution_law
from tests.reference.modifications import identity_modification as identity_modification
from tests.reference.modifications import lemma_reach as lemma_reach
from tests.reference.modifications import modifications as modifications
from tests.reference.modifications import modified_reach as modified_reach
from tests.reference.modifications import modified_value as modified_value
from tests.reference.modifications import n_modifications as n_modifications
from tests.reference.modifications import random_modification as random_modification
from tests.reference.modifications import slots as slots
from tests.reference.rechistories import mismatches as mismatches
from tests.reference.rechistories import rechistories as rechistories
from tests.reference.rechistories import rechistory_counts as rechistory_counts
from tests.reference.rechistories import time_selection as time_selection
from tests.reference.rechistories import type_one as type_one
from tests.reference.rechistories import type_two as type_two
from tests.reference.regret import Round as Round
from tests.reference.regret import Score as Score
from tests.reference.regret import decomposition as decomposition
from tests.reference.regret import efce_regret as efce_regret
from tests.reference.regret import external_score as external_score
from tests.reference.regret import layer_sum as layer_sum
from tests.reference.regret import local_external_regret as local_external_regret
from tests.reference.regret import local_swap_regret as local_swap_regret
from tests.reference.regret import max_layer_sum as max_layer_sum
from tests.reference.regret import rounds_of as rounds_of
from tests.reference.regret import swap_score as swap_score
from tests.reference.types import CHANCE as CHANCE
from tests.reference.types import TERMINAL as TERMINAL
from tests.reference.types import Behavior as Behavior
from tests.reference.types import Behaviors as Behaviors
from tests.reference.types import CorrelatedPolicy as CorrelatedPolicy
from tests.reference.types import Modification as Modification
from tests.reference.types import Rechistory as Rechistory
from tests.reference.types import once_per_game as once_per_game
from tests.reference.types import remember as remember
