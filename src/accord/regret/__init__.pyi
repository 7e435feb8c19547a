"""The public names of ``accord.regret`` and the modules they live in."""

from accord.regret.discounted import DiscountedRegretMatching as DiscountedRegretMatching
from accord.regret.regret_matching import Matching as Matching
from accord.regret.regret_matching import RegretMatching as RegretMatching
from accord.regret.regret_matching import match_regrets as match_regrets
from accord.regret.sampled_matching import SampledRegretMatching as SampledRegretMatching
from accord.regret.state import recommend as recommend
from accord.regret.swrhedge import SWRHedge as SWRHedge
from accord.regret.wrhedge import WRHedge as WRHedge
