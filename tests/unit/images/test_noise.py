import numpy as np
import pytest
from scipy import stats

from credo.exceptions import InputError, ShapeError
from credo.images import add_noise, flip_map
from credo.images.noise import _chain

BITS = np.random.default_rng(0).integers(0, 2, (200, 300)).astype(bool)
BYTES = np.random.default_rng(1).integers(0, 256, (200, 300), dtype=np.uint8)
FLIPS = ("independent", "burst", "varying")

#: How rare a count must be before it is called wrong.
RARE = 1e-6


def assert_binomial(count, n, p):
    assert stats.binomtest(int(count), int(n), p).pvalue > RARE


def assert_evenly_spread(counts):
    assert stats.chisquare(counts).pvalue > RARE


def runs(inside):
    """Lengths of the runs of true pixels in row-major order, without those cut by an end."""
    steps = np.diff(np.concatenate([[0], inside.ravel().astype(int), [0]]))
    starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    return (ends - starts)[(starts > 0) & (ends < inside.size)]


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.2, 0.5, 1.0])
def test_independent_flips_come_at_their_rate(rate):
    flipped = add_noise(BITS, rate) != BITS
    if rate in (0.0, 1.0):
        assert (flipped == bool(rate)).all()
    else:
        assert_binomial(flipped.sum(), flipped.size, rate)


def test_independent_flips_are_independent_of_the_pixel_and_of_its_neighbours():
    flipped = add_noise(BITS, 0.1) != BITS
    for other in (BITS, np.roll(flipped, 1, axis=0), np.roll(flipped, 1, axis=1)):
        table = [[(flipped & o).sum(), (~flipped & o).sum()] for o in (other, ~other)]
        assert stats.chi2_contingency(table).pvalue > RARE


def test_a_map_gives_each_pixel_its_own_rate():
    rates = np.repeat([0.0, 0.1, 0.4, 1.0], 75) * np.ones((200, 1))
    flipped = add_noise(BITS, rates) != BITS
    assert not flipped[:, :75].any()
    assert flipped[:, 225:].all()
    assert_binomial(flipped[:, 75:150].sum(), 200 * 75, 0.1)
    assert_binomial(flipped[:, 150:225].sum(), 200 * 75, 0.4)
    np.testing.assert_array_equal(flip_map((200, 300), rates, kind="independent"), rates)


def test_varying_flips_grow_from_none_at_the_left_to_twice_the_mean_at_the_right():
    rates = flip_map((200, 300), 0.2, kind="varying")
    assert rates.mean() == pytest.approx(0.2, rel=1e-12)
    np.testing.assert_allclose(rates, 0.4 * np.arange(300) / 299 * np.ones((200, 1)), atol=1e-15)
    flipped = add_noise(BITS, 0.2, kind="varying") != BITS
    assert not flipped[:, 0].any()
    for part in np.array_split(np.arange(300), 10):  # a sum of binomials varies less than one
        assert_binomial(flipped[:, part].sum(), 200 * len(part), rates[:, part].mean())


def test_a_single_column_has_the_mean_rate():
    np.testing.assert_array_equal(flip_map((3, 1), 0.2, kind="varying"), np.full((3, 1), 0.2))


@pytest.mark.parametrize(("rate", "length"), [(0.05, 8), (0.2, 20), (0.2, 2.5), (0.3, 1.6)])
def test_bursts_are_geometric_runs_that_cover_twice_the_rate(rate, length):
    shape = (500, 600)
    inside = flip_map(shape, rate, length=length) == 0.5
    share, leave = 2 * rate, 1 / length
    memory = 1 - leave - leave * share / (1 - share)  # the chain's second eigenvalue
    error = np.sqrt(share * (1 - share) / inside.size * (1 + memory) / (1 - memory))
    assert abs(inside.mean() - share) < 5 * error
    found = runs(inside)
    assert abs(found.mean() - length) < 5 * np.sqrt(1 - leave) * length / np.sqrt(len(found))
    most = int(stats.geom.ppf(1 - 20 / len(found), leave))  # expected counts of 20 and more
    counts = np.bincount(np.minimum(found, most), minlength=most + 1)[1:]
    chances = [*stats.geom.pmf(np.arange(1, most), leave), stats.geom.sf(most - 1, leave)]
    assert stats.chisquare(counts, len(found) * np.array(chances)).pvalue > RARE


def test_bursts_of_length_one_can_take_every_other_pixel():
    inside = (flip_map((50, 50), 0.25, length=1) == 0.5).ravel()
    assert (inside[1:] != inside[:-1]).all()


@pytest.mark.parametrize(
    ("enter", "stay"), [(0.1, 0.9), (0.6, 0.2), (0.5, 0.5), (1.0, 0.0), (0, 0)]
)
@pytest.mark.parametrize("state", [False, True])
def test_the_chain_is_what_a_walk_along_it_gives(enter, stay, state):
    uniform = np.random.default_rng(3).random(500)
    walk, now = [], state
    for u in uniform:
        now = u < (stay if now else enter)
        walk.append(now)
    np.testing.assert_array_equal(_chain(uniform, enter, stay, state=state), walk)


def test_bursts_do_not_depend_on_how_the_rows_are_blocked(monkeypatch):
    whole = flip_map((64, 64), 0.2, seed=5)
    monkeypatch.setattr("credo._checks.BLOCK_BYTES", 8 * 64 * 3)
    np.testing.assert_array_equal(flip_map((64, 64), 0.2, seed=5), whole)


def test_inside_bursts_half_of_the_pixels_flip_and_outside_none():
    inside = flip_map(BITS.shape, 0.2, seed=7) > 0
    flipped = add_noise(BITS, 0.2, kind="burst", seed=7) != BITS
    assert not flipped[~inside].any()
    assert_binomial(flipped[inside].sum(), inside.sum(), 0.5)


def test_a_rate_of_a_half_is_one_burst():
    np.testing.assert_array_equal(flip_map((9, 9), 0.5), np.full((9, 9), 0.5))
    assert not flip_map((9, 9), 0.0).any()


def test_salt_and_pepper_are_the_two_ends_in_equal_parts():
    image = np.full((200, 300), 100, dtype=np.uint8)
    image[:, 150:] = 200
    image[0, 0] = 50
    noisy = add_noise(image, 0.2, kind="salt_and_pepper")
    hit = noisy != image
    assert set(np.unique(noisy[hit]).tolist()) == {0, 255}
    assert_binomial(hit.sum(), hit.size, 0.2)
    assert_binomial((noisy == 255).sum(), hit.sum(), 0.5)


def test_salt_and_pepper_on_two_values_flip_half_of_the_pixels_they_hit():
    flipped = add_noise(BITS, 0.2, kind="salt_and_pepper") != BITS
    assert_binomial(flipped.sum(), flipped.size, 0.1)


def test_salt_and_pepper_take_a_map():
    rates = np.zeros(BYTES.shape)
    rates[3, 4] = 1
    changed = np.argwhere(add_noise(BYTES, rates, kind="salt_and_pepper") != BYTES)
    assert changed.tolist() == [[3, 4]]
    assert add_noise(BYTES, rates, kind="salt_and_pepper")[3, 4] in (0, 255)


def test_a_grey_pixel_that_flips_takes_any_level_with_equal_chance():
    noisy = add_noise(BYTES, 1.0)
    assert_evenly_spread(np.bincount(noisy.ravel(), minlength=256))
    assert stats.pearsonr(noisy.ravel().astype(float), BYTES.ravel()).pvalue > RARE
    changed = add_noise(BYTES, 0.3) != BYTES
    assert_binomial(changed.sum(), changed.size, 0.3 * 255 / 256)


def test_a_float_that_flips_is_uniform_between_the_ends():
    image = np.random.default_rng(2).random((100, 100)) * 0.5
    assert stats.kstest(add_noise(image, 1.0).ravel(), "uniform").pvalue > RARE
    wide = add_noise(image * 8 - 1, 1.0)
    low, high = (image * 8 - 1).min(), (image * 8 - 1).max()
    assert stats.kstest(wide.ravel(), "uniform", (low, high - low)).pvalue > RARE


def test_whole_numbers_of_a_wide_type_flip_within_their_own_range():
    labels = np.random.default_rng(2).integers(3, 8, (100, 100))
    noisy = add_noise(labels, 1.0)
    assert_evenly_spread(np.bincount(noisy.ravel(), minlength=8)[3:])


@pytest.mark.parametrize("kind", [*FLIPS, "salt_and_pepper"])
def test_the_channels_of_a_pixel_are_hit_together_and_opacity_is_left_alone(kind):
    image = np.random.default_rng(2).integers(1, 255, (100, 100, 4), dtype=np.uint8)
    noisy = add_noise(image, 0.2, kind=kind)
    changed = (noisy != image)[..., :3]
    same = changed.any(axis=-1) == changed.all(axis=-1)
    assert same.mean() > (0.99 if kind in FLIPS else 1 - RARE)  # a new level may be the old one
    assert 0.1 < changed.any(axis=-1).mean() < 0.3
    np.testing.assert_array_equal(noisy[..., 3], image[..., 3])
    if kind == "salt_and_pepper":
        hit = noisy[..., :3][changed.any(axis=-1)]
        assert (hit == hit[:, :1]).all()


def test_the_channels_of_a_flipped_pixel_get_values_of_their_own():
    noisy = add_noise(np.dstack([BYTES] * 3), 1.0)
    assert stats.pearsonr(*noisy[..., :2].reshape(-1, 2).T.astype(float)).pvalue > RARE


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaussian_noise_is_gaussian(dtype):
    image = np.zeros((200, 300, 3), dtype=dtype)
    noisy = add_noise(image, kind="gaussian", sigma=3.0)
    assert noisy.dtype == dtype
    assert stats.kstest(noisy.ravel(), "norm", (0, 3)).pvalue > RARE
    assert len(np.unique(noisy)) > 0.9 * noisy.size


def test_gaussian_noise_on_whole_numbers_is_rounded_and_clipped():
    image = np.full((200, 300), 250, dtype=np.uint8)
    noisy = add_noise(image, kind="gaussian", sigma=10.0)
    assert noisy.dtype == np.uint8
    assert_binomial((noisy == 255).sum(), noisy.size, stats.norm.sf(4.5 / 10))
    assert_binomial((noisy == 250).sum(), noisy.size, 1 - 2 * stats.norm.sf(0.5 / 10))


def test_gaussian_noise_takes_a_deviation_per_pixel():
    sigma = np.zeros((20, 30))
    sigma[:, 15:] = 2.0
    moved = add_noise(np.zeros((20, 30)), kind="gaussian", sigma=sigma) != 0
    np.testing.assert_array_equal(moved, sigma > 0)


def test_a_seed_gives_the_same_noise_and_another_seed_another():
    for kind in (*FLIPS, "salt_and_pepper"):
        first = add_noise(BYTES, 0.2, kind=kind, seed=3)
        np.testing.assert_array_equal(first, add_noise(BYTES, 0.2, kind=kind, seed=3))
        assert (first != add_noise(BYTES, 0.2, kind=kind, seed=4)).any()
    draws = np.random.default_rng(3)
    generated = add_noise(BYTES, 0.2, seed=draws)
    np.testing.assert_array_equal(generated, add_noise(BYTES, 0.2, seed=3))
    assert (add_noise(BYTES, 0.2, seed=draws) != generated).any()


def test_the_flips_of_a_seed_are_known():
    still = np.zeros((4, 16), dtype=bool)
    rows = {kind: np.packbits(add_noise(still, 0.25, kind=kind, seed=0), axis=1) for kind in FLIPS}
    assert {kind: bits.tobytes().hex() for kind, bits in rows.items()} == {
        "independent": "30150c0080029536",
        "burst": "5022910000008b9b",
        "varying": "30150c01001a0536",
    }


def test_the_image_itself_stays_as_it_was():
    before = BYTES.copy()
    for kind in (*FLIPS, "salt_and_pepper"):
        add_noise(BYTES, 0.5, kind=kind, length=1000)[:] = 0
    np.testing.assert_array_equal(BYTES, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"flip_probability": 1.5},
            "of add_noise must be between 0 and 1. Got 1.5",
        ),
        ({"flip_probability": np.nan}, "must be finite"),
        ({"flip_probability": "estimate"}, "must be a number"),
        ({"flip_probability": [[0.1, 0.2], [0.3, -0.1]]}, r"Got -0.1 at pixel \(1, 1\)"),
        ({"flip_probability": [0.1, 0.2]}, r"one per pixel in shape \(2, 2\). Got shape \(2,\)"),
        ({"flip_probability": np.full((2, 2), 0.1), "kind": "burst"}, "must be one number"),
        (
            {"flip_probability": 0.6, "kind": "burst"},
            "at most 0.5 for kind='burst'.*inside",
        ),
        ({"flip_probability": 0.6, "kind": "varying"}, "at most 0.5 for kind='varying'.*twice"),
        (
            {"flip_probability": 0.46, "kind": "burst"},
            "at most 0.444444 for bursts.*length 8",
        ),
        ({"kind": "burst", "length": 0.5}, "length of add_noise must be at least 1. Got 0.5"),
        ({"kind": "bursts"}, "kind of add_noise must be one of.*Did you mean 'burst'"),
        ({"kind": "gaussian"}, "needs sigma for kind='gaussian'"),
        ({"kind": "gaussian", "sigma": -1}, "sigma of add_noise must be at least 0. Got -1"),
        ({"kind": "gaussian", "sigma": [1, 2]}, "sigma of add_noise must be one number, or one"),
        ({"sigma": 2.0}, "sigma of add_noise is for kind='gaussian'. Got kind='independent'"),
        ({"seed": "x"}, "must be a seed or a generator"),
        ({"seed": -1}, "must be a seed or a generator"),
    ],
    ids=range(17),
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        add_noise([[0, 1], [1, 0]], **options)


def test_what_is_no_image_is_refused_by_name():
    with pytest.raises(ShapeError, match="image of add_noise"):
        add_noise(np.zeros((9, 9, 9)))
    with pytest.raises(InputError, match="add_noise needs a grey image. Got booleans"):
        add_noise(BITS, kind="gaussian", sigma=1.0)


@pytest.mark.parametrize("shape", [(5,), (5, 6, 3), 5, (5, 0), (5, 2.5), (-1, 2)])
def test_a_map_needs_a_height_and_a_width(shape):
    with pytest.raises(InputError, match="flip_map must be a (height|whole number)"):
        flip_map(shape)


def test_a_map_has_the_kinds_that_flip():
    with pytest.raises(InputError, match="kind of flip_map must be one of"):
        flip_map((2, 2), kind="gaussian")


def test_a_map_is_the_callers_own():
    rates = np.full((2, 2), 0.25)
    flip_map((2, 2), rates, kind="independent")[:] = 1
    np.testing.assert_array_equal(rates, np.full((2, 2), 0.25))
    assert flip_map((2, 2), 0.25, kind="varying").flags.writeable
