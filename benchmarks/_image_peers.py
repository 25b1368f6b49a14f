"""What scikit-image makes of noisy grey pictures; runs where scikit-image is installed.

``python benchmarks/_image_peers.py FILE.npz INTO.npz``; the first has the arrays ``noisy_0``, … of
bytes and ``sigmas``, the second gets ``total variation_0``, …, ``non-local means_0``, … and the
CPU seconds of each. Both are told sigma. Of total variation all weights come back, for the caller
to take the best: it has no rule for its weight.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from skimage.restoration import denoise_nl_means, denoise_tv_chambolle

#: Shares of the noise's standard deviation that total variation may weigh with.
WEIGHTS = (0.5, 1.0, 1.5, 2.0)


def timed(run: Callable[..., Any], noisy: Any, **options: Any) -> tuple[Any, float]:
    """Return an image in levels, and the CPU seconds that it took; the better of two times."""
    took = []
    for _ in range(2):
        begun = time.process_time()
        image = run(noisy, **options)
        took.append(time.process_time() - begun)
    return 255 * image, min(took)


def main() -> None:
    """Restore all pictures."""
    given, found = np.load(sys.argv[1]), {}
    for i, sigma in enumerate(given["sigmas"] / 255):
        noisy = given[f"noisy_{i}"] / 255
        every = [timed(denoise_tv_chambolle, noisy, weight=share * sigma) for share in WEIGHTS]
        found[f"total variation_{i}"] = np.stack([image for image, _ in every])
        found[f"total variation_{i}_seconds"] = np.mean([seconds for _, seconds in every])
        # as in the documentation of denoise_nl_means
        options = {"patch_size": 5, "patch_distance": 6, "h": 0.8 * sigma, "sigma": sigma}
        image, seconds = timed(denoise_nl_means, noisy, fast_mode=True, **options)
        found[f"non-local means_{i}"] = image[np.newaxis]
        found[f"non-local means_{i}_seconds"] = seconds
    np.savez(sys.argv[2], **found)


if __name__ == "__main__":
    main()
