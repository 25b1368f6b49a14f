"""Cases that several test files go through."""

from credo.decisions import Absolute, AsymmetricLinear, Linex, Pinball, Squared

#: Losses of a number that have a closed form everywhere.
LOSSES = {
    "squared": Squared(),
    "absolute": Absolute(),
    "pinball 0.8": Pinball(0.8),
    "under 3, over 1": AsymmetricLinear(under=3, over=1),
    "linex 0.7": Linex(0.7),
    "linex -0.4": Linex(-0.4),
}
