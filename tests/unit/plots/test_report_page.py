"""The report as its reader gets it: one page, from a model and a table."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest

import credo
from credo.plots import write_report
from credo.tables import evaluate_table

EVIL = "<script>alert(1)</script>"


def rows(labels, n=120, rare=0.35):
    rng = np.random.default_rng(0)
    second = rng.permutation(n) < rare * n
    table = {"age": rng.normal(40 - 9 * second, 6), "y": np.where(second, *labels[::-1]).tolist()}
    return pa.table(table)


def page_of(table, folder, model=None):
    """Give the evaluation of a table, and its page."""
    model = credo.fit_table(credo.NaiveBayes(), table) if model is None else model
    found = evaluate_table(model, table)
    write_report(found, folder / "page.html")
    return found, (folder / "page.html").read_text(encoding="utf-8")


def test_names_from_the_data_are_shown_as_text(tmp_path):
    _, page = page_of(rows((EVIL, "<b>bad</b>")), tmp_path)
    shown = page.partition('<script type="application/json"')[0]
    assert "<script" not in shown
    assert "<b>" not in shown
    assert shown.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 3


def test_numbers_are_json_that_nothing_in_them_can_end(tmp_path):
    found, page = page_of(rows((EVIL, "<!-- -->")), tmp_path)
    (inside,) = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    assert not set("<>&") & set(inside)
    assert json.loads(inside) == json.loads(json.dumps(found.to_dict()))


def test_intervals_of_columns_reach_two_standard_errors_to_either_side(tmp_path):
    """For 95 % of a normal distribution, 1.96 of them; written to two digits."""
    found, page = page_of(rows(("good", "bad")), tmp_path)
    (column,) = found.contributions.columns
    matter = page.partition('<section id="columns-matter"')[2]
    rise, half = re.search(r"([\d.]+) ±\s([\d.]+)</td>", matter).groups()
    assert float(rise) == pytest.approx(column.rise, rel=0.05)
    assert float(half) == pytest.approx(1.96 * column.standard_error, rel=0.05)


def test_a_share_that_is_not_zero_is_not_written_as_zero(tmp_path):
    table = rows(("good", "bad"), n=3000, rare=1 / 3000)
    model = credo.fit_table(credo.NaiveBayes(), rows(("good", "bad")))
    _, page = page_of(table, tmp_path, model)
    assert "below 0.1\N{NO-BREAK SPACE}%" in page
