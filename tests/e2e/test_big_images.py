"""Images larger than the memory they may take: restored by another process that is watched."""

import json
import subprocess
import sys
import textwrap

import dask.array as da
import numpy as np
import pytest
import tifffile
from PIL import Image

import credo
from credo.images import (
    TiffTarget,
    add_noise,
    denoise_dask,
    denoise_tiled,
    open_tiff,
    portrait,
)

GIVEN = {"flip_probability": 0.1, "coupling": 0.8}
FACE = np.kron(portrait(128), np.ones((8, 8), bool))

#: What a watched process begins with: a small picture, so that all that is loaded is loaded.
BEGIN = """
import resource
import numpy as np
from credo.images import TiffTarget, denoise_tiled, open_tiff

def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

given = {"flip_probability": 0.1, "coupling": 0.8}
denoise_tiled(np.eye(50), **given)
before = megabytes()
"""
#: And ends with.
END = """
import json
print(json.dumps({"megabytes": megabytes() - before, **told}))
"""


def run(script, folder):
    """Run a script in another process, and read what it tells, and how much memory it took."""
    code = BEGIN + textwrap.dedent(script) + END
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def noisy_file(path, side):
    """A picture in a file of its own, 0 and 255, made row by row of faces."""
    picture = np.lib.format.open_memmap(path, "w+", np.uint8, (side, side))
    rng = np.random.default_rng(0)
    for row in range(0, side, 1024):
        band = np.tile(FACE, (1, -(-side // 1024)))[: side - row, :side]
        picture[row : row + 1024] = (band ^ (rng.random(band.shape, np.float32) < 0.1)) * 255
    picture.flush()
    return picture


@pytest.mark.slow
def test_a_file_of_36_million_pixels_is_restored_in_200_megabytes(tmp_path):
    side = 6000
    noisy = noisy_file(tmp_path / "noisy.npy", side)
    told = run(
        """
        noisy = np.load("noisy.npy", mmap_mode="r")
        clean = np.lib.format.open_memmap("clean.npy", "w+", np.uint8, noisy.shape)
        sure = np.lib.format.open_memmap("sure.npy", "w+", np.float32, noisy.shape)
        found = denoise_tiled(noisy, clean, posterior=sure, threads=2, **given)
        told = {"changed": found.changed, "tiles": found.tiles}
        """,
        tmp_path,
    )
    clean = np.load(tmp_path / "clean.npy", mmap_mode="r")
    sure = np.load(tmp_path / "sure.npy", mmap_mode="r")
    assert told["tiles"] == 36
    assert told["changed"] == np.count_nonzero(clean != noisy)
    assert told["megabytes"] < 200  # all at once it would be 1000
    for row, column in [(0, 0), (1000, 2000), (5500, 5500)]:
        above, left = min(row, 20), min(column, 20)
        part = noisy[row - above : row + 520, column - left : column + 520]
        expected = credo.denoise(part, 0.1, 0.8, dtype="float32")
        inside = np.s_[above : above + 500, left : left + 500]
        window = np.s_[row : row + 500, column : column + 500]
        assert np.array_equal(clean[window], expected.image[inside])
        assert np.array_equal(sure[window], expected.posterior.of(255)[inside])


@pytest.mark.slow
def test_a_tiff_of_16_million_pixels_is_restored_into_another(tmp_path):
    side = 4096
    noisy = noisy_file(tmp_path / "noisy.npy", side)
    with TiffTarget(tmp_path / "noisy.tif", noisy.shape, bool) as target:
        target[:, :] = noisy > 0
    told = run(
        """
        with open_tiff("noisy.tif") as noisy, TiffTarget("clean.tif", noisy.shape, bool) as clean:
            denoise_tiled(noisy, clean, **given)
            told = {"reads": noisy.reads}
        """,
        tmp_path,
    )
    assert told["reads"] == 16**2  # each tile once; for the second pass and for halos they are kept
    assert told["megabytes"] < 200  # all at once it would be 500
    with open_tiff(tmp_path / "clean.tif") as clean:
        found = clean[:500, :500]
    expected = credo.denoise(noisy[:520, :520] > 0, 0.1, 0.8, dtype="float32").image
    assert np.array_equal(found, expected[:500, :500])


def test_a_fax_is_restored(tmp_path):
    noisy = add_noise(FACE, 0.1, seed=3)
    Image.fromarray(noisy).save(tmp_path / "fax.tif", compression="group4", tiffinfo={278: 64})
    with (
        open_tiff(tmp_path / "fax.tif") as source,
        TiffTarget(tmp_path / "clean.tif", source.shape, source.dtype) as target,
        TiffTarget(tmp_path / "sure.tif", source.shape, np.float32) as sure,
    ):
        found = denoise_tiled(source, target, posterior=sure, tile=300, threads=2)
    expected = credo.denoise(noisy, dtype="float32")
    assert found.flip_probability == expected.flip_probability
    with Image.open(tmp_path / "clean.tif") as clean:
        assert np.array_equal(np.asarray(clean), expected.image)
    assert np.array_equal(tifffile.imread(tmp_path / "sure.tif"), expected.posterior.of(1))
    assert (expected.image != FACE).mean() < 0.1 * (noisy != FACE).mean()


def test_an_error_on_the_way_leaves_no_tiff(tmp_path):
    tifffile.imwrite(tmp_path / "noisy.tif", FACE.view(np.uint8), tile=(256, 256))

    def stop(done, _):
        if done == 2:
            raise RuntimeError("enough")

    def restore():
        with (
            open_tiff(tmp_path / "noisy.tif") as source,
            TiffTarget(tmp_path / "clean.tif", source.shape, source.dtype) as target,
        ):
            denoise_tiled(source, target, tile=256, callback=stop, **GIVEN)

    with pytest.raises(RuntimeError, match="enough") as caught:
        restore()
    assert caught.value.__notes__ == ["denoise_tiled has written 2 of 16 tiles, row by row."]
    assert [path.name for path in tmp_path.iterdir()] == ["noisy.tif"]


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_a_tiff_goes_through_dask_into_another(tmp_path, scheduler):
    noisy = add_noise(FACE, 0.1, seed=4)
    with TiffTarget(tmp_path / "noisy.tif", noisy.shape, bool) as target:
        target[:, :] = noisy
    with (
        open_tiff(tmp_path / "noisy.tif") as source,
        TiffTarget(tmp_path / "clean.tif", source.shape, bool) as target,
    ):
        blocks = da.from_array(source, chunks=300, meta=np.empty((0, 0), bool))
        clean = denoise_dask(blocks, labels=(False, True), **GIVEN)
        clean.store(target, scheduler=scheduler)
    expected = credo.denoise(noisy, 0.1, 0.8, dtype="float32").image
    assert np.array_equal(tifffile.imread(tmp_path / "clean.tif"), expected)
