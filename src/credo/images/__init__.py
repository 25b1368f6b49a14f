"""Images: noise, restoring and segmenting them with fields on grids."""

from credo.images._denoise import Restoration, denoise
from credo.images._segment import Segmentation, contrast_couplings, segment
from credo.images.examples import portrait, texture_pair
from credo.images.features import block_features
from credo.images.noise import add_noise, flip_map
from credo.images.tiff import TiffSource, TiffTarget, open_tiff
from credo.images.tiled import TiledRestoration, denoise_dask, denoise_tiled

__all__ = [
    "Restoration",
    "Segmentation",
    "TiffSource",
    "TiffTarget",
    "TiledRestoration",
    "add_noise",
    "block_features",
    "contrast_couplings",
    "denoise",
    "denoise_dask",
    "denoise_tiled",
    "flip_map",
    "open_tiff",
    "portrait",
    "segment",
    "texture_pair",
]
