"""Published networks and their published answers, where they are found beside the project."""

import csv
import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest

import credo
from credo import formats

BESIDE = Path(__file__).parents[3] / "shared" / "data" / "graphical"


def table(path):
    if not path.exists():
        return []
    with path.open() as stream:
        return list(csv.DictReader(stream))


NETWORKS = {row["network"]: row for row in table(BESIDE / "bif/bif_networks.csv")}
REFERENCE = {}
if NETWORKS:
    packed = (BESIDE / "bif/reference_inference.json.gz").read_bytes()
    REFERENCE = json.loads(gzip.decompress(packed))
CASES = [(name, i) for name, found in REFERENCE.items() for i in range(len(found["cases"]))]
INSTANCES = [row for row in table(BESIDE / "uai/uai_reference.csv") if row["exact_lnZ"]]
SMALL = [row for row in INSTANCES if float(row["minfill_log2_clique"]) <= 18]
WIDE = [row for row in INSTANCES if 18 < float(row["minfill_log2_clique"]) <= 25]
#: Published questions that are asked every day; the others are slow.
EVERYDAY = ("alarm", 0)


def slow_but(everyday, cases, identify):
    """Mark all cases as slow but one."""
    return [
        pytest.param(case, id=identify(case), marks=[pytest.mark.slow] * (case != everyday))
        for case in cases
    ]


QUESTIONS = slow_but(EVERYDAY, CASES, lambda case: "{}-{}".format(*case))
ROWS = slow_but(next(iter(SMALL), None), SMALL, lambda row: row["name"])


def rounding(name):
    """Bound what normalising a file's rounded rows changes: each row by its error, both ways."""
    return 2 * int(NETWORKS[name]["nodes"]) * float(NETWORKS[name]["max_row_sum_error"])


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_bayesian_network_gives_its_published_posteriors(question):
    name, i = question
    case = REFERENCE[name]["cases"][i]
    net = credo.read_bif(BESIDE / f"bif/{name}.bif.gz")
    post = credo.infer(net, case["evidence"])
    for variable, published in case["marginals"].items():  # nine digits are printed
        np.testing.assert_allclose(
            post.probabilities(variable), published, rtol=0, atol=6e-10 + rounding(name)
        )
    assert math.isclose(post.log_evidence, case["ln_p_evidence"], abs_tol=1e-9 + rounding(name))


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_bayesian_network_gives_its_published_best_configuration(question):
    name, i = question
    case = REFERENCE[name]["cases"][i]
    net = credo.read_bif(BESIDE / f"bif/{name}.bif.gz")
    best = credo.mpe(net, case["evidence"])
    digits = 1e-10 * abs(case["ln_max_p"])  # twelve digits are printed
    assert math.isclose(best.log_score, case["ln_max_p"], abs_tol=digits + rounding(name))
    assert all(best[variable] == state for variable, state in case["evidence"].items())


def check_instance(row):
    model = formats.read_uai(BESIDE / f"uai/{row['name']}.uai.gz")
    evidence = formats.read_uai_evidence(BESIDE / f"uai/{row['name']}.uai.evid", model)
    post = credo.infer(model, evidence, budget="8GB")
    assert math.isclose(post.log_evidence, float(row["exact_lnZ"]), rel_tol=1e-8, abs_tol=1e-8)
    marginals = BESIDE / f"uai/{row['name']}.uai.MAR"
    if marginals.exists():  # six digits are printed
        published = formats.read_uai_result(marginals).value
        for variable, marginal in zip(model.names, published, strict=True):
            np.testing.assert_allclose(post.probabilities(variable), marginal, rtol=0, atol=1e-6)
    if row["exact_MAP_ln"]:
        best = credo.mpe(model, evidence, budget="8GB")
        assert math.isclose(best.log_score, float(row["exact_MAP_ln"]), rel_tol=1e-8, abs_tol=1e-8)


@pytest.mark.parametrize("row", ROWS)
def test_a_competition_instance_gives_its_published_answers(row):
    check_instance(row)


@pytest.mark.slow
@pytest.mark.parametrize("row", WIDE, ids=lambda row: row["name"])
def test_a_wide_competition_instance_gives_its_published_answers(row):
    check_instance(row)
