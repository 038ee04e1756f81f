from __future__ import annotations

from policysched.lint.rules.scores import ps307_disproportionate_weight
from policysched.plugins import defaults

SCORING = (
    *("TaintToleration", "NodeAffinity", "PodTopologySpread", "InterPodAffinity"),
    *("NodeResourcesFit", "NodeResourcesBalancedAllocation", "DynamicResources", "ImageLocality"),
)


def test_built_in_weights_are_those_of_the_plugins() -> None:
    """The share of a score is computed with the weights that the engine uses."""
    weights = {name: defaults.DEFAULT_WEIGHTS[name] for name in SCORING}
    assert weights == ps307_disproportionate_weight.BUILTIN_WEIGHTS
