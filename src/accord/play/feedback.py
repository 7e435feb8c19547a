"""What learners see of a play.

*own*: each player their own infosets, actions and payoffs, as in the paper. *joint*: one learner
sees the moves and payoffs of all players, as the owner of a simulator does.
"""

OWN, JOINT = FEEDBACKS = "own", "joint"
