"""A plugin for the consortium's suite: what fails is not made smaller, which takes hours."""

from hypothesis import Phase, settings

settings.register_profile("without shrinking", phases=(Phase.explicit, Phase.generate))
settings.load_profile("without shrinking")
