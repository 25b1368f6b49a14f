"""Names for the types that every room speaks of."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

#: A float64 array.
F64: TypeAlias = npt.NDArray[np.float64]
#: An array of integers.
Int: TypeAlias = npt.NDArray[np.intp]
#: An array of booleans.
Bool: TypeAlias = npt.NDArray[np.bool_]
#: The name of a class, a truth or an act.
Label: TypeAlias = Hashable
#: Labels in order.
Labels: TypeAlias = tuple[Label, ...]
#: One number per label: by name, or in the order of the labels.
PerLabel: TypeAlias = Mapping[Label, float] | Sequence[float] | F64
#: A seed or a generator.
RandomState: TypeAlias = int | np.random.Generator | None
