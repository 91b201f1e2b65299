"""What a script can do to the world: one function an effect, in the table `WORLD`, and the conditions it can set."""

from mockserver.core.world.conditions import fits
from mockserver.core.world.effects import OF_THE_OPERATION, WORLD, Unmet, run

__all__ = ["OF_THE_OPERATION", "WORLD", "Unmet", "fits", "run"]
