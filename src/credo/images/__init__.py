"""Images: noise, restoring and segmenting them with fields on grids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.images.blocks import block_features as block_features
    from credo.images.dask_arrays import denoise_dask as denoise_dask
    from credo.images.denoising import denoise as denoise
    from credo.images.drawn_portrait import portrait as portrait
    from credo.images.noise import add_noise as add_noise, flip_map as flip_map
    from credo.images.restoration import Restoration as Restoration
    from credo.images.segmentation import (
        Segmentation as Segmentation,
        contrast_couplings as contrast_couplings,
        segment as segment,
    )
    from credo.images.textures import texture_pair as texture_pair
    from credo.images.tiff import (
        TiffSource as TiffSource,
        TiffTarget as TiffTarget,
        open_tiff as open_tiff,
    )
    from credo.images.tiles import (
        TiledRestoration as TiledRestoration,
        denoise_tiled as denoise_tiled,
    )

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.images.blocks": ["block_features"],
        "credo.images.dask_arrays": ["denoise_dask"],
        "credo.images.denoising": ["denoise"],
        "credo.images.noise": ["add_noise", "flip_map"],
        "credo.images.drawn_portrait": ["portrait"],
        "credo.images.restoration": ["Restoration"],
        "credo.images.segmentation": ["Segmentation", "contrast_couplings", "segment"],
        "credo.images.textures": ["texture_pair"],
        "credo.images.tiff": ["TiffSource", "TiffTarget", "open_tiff"],
        "credo.images.tiles": ["TiledRestoration", "denoise_tiled"],
    },
)
