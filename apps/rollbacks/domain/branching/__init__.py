"""The branch directory of a rollback: what to create in it, and how each framework starts from it.

One module a framework. In the old directory the next automatic restart would pick the abandoned
branch (the highest number wins), and a step given as an argument would be loaded again at every
restart. So a rollback gets a directory of its own, in which the ordered step is the newest one.
"""

from apps.rollbacks.domain.branching.find import framework_of
from apps.rollbacks.domain.branching.plans import FRAMEWORKS, plan
from apps.rollbacks.domain.branching.shapes import BranchPlan, Chosen

__all__ = ["FRAMEWORKS", "BranchPlan", "Chosen", "framework_of", "plan"]
