"""The report: one page, from a model and a table, as its reader gets it."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from jinja2.exceptions import UndefinedError

import credo
from credo.exceptions import InputError
from credo.plots import write_report
from credo.plots.report import amount, breakable, share, with_error
from credo.tables import evaluate_table, fit_table

EVIL = "<script>alert(1)</script>"
WORSE = "</script></style>\"'&$\\frac{\x00{{ 7 * 7 }}{% raw %} <img src=x onerror=alert(1)>"
VOID = {"meta", "wbr", "br", "img"}


class Page(HTMLParser):
    """Collects tags, and checks that they are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.scripts, self.words = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] == "script" else self.words).append(data)

    def having(self, tag):
        return [attrs for known, attrs in self.tags if known == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())  # no-break spaces too


def spaced(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def rows(n=240, labels=("good", "bad"), seed=0):
    rng = np.random.default_rng(seed)
    bad = rng.random(n) < 0.35
    return {
        "age": rng.normal(40 - 9 * bad, 6),
        "job": np.where(bad & (rng.random(n) < 0.6), "none", "skilled").tolist(),
        "y": [labels[1] if each else labels[0] for each in bad],
    }


#: Pages are of the rows of the fit, which they say themselves.
pytestmark = pytest.mark.filterwarnings("ignore:evaluate_table. these are the rows")
LOSS = credo.Loss([[0, 1], [5, 0]], ["good", "bad"], ["lend", "refuse"])


def evaluated(table, loss=None, target="y"):
    model = fit_table(credo.NaiveBayes(), pa.table(table), target=target)
    return evaluate_table(model, pa.table(table), loss=loss)


@pytest.fixture(scope="module")
def found():
    return evaluated(rows(), LOSS.with_reject(0.3, "ask"))


def written(result, folder, **options):
    write_report(result, folder / "report.html", **options)
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def text(found, tmp_path_factory):
    return written(found, tmp_path_factory.mktemp("report"))


def test_the_page_needs_nothing_but_itself(text):
    page = Page(text)
    policy = page.having("meta")[1]
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert policy["content"].startswith("default-src 'none'; style-src 'unsafe-inline'")
    linked = [
        value
        for _, attrs in page.tags
        for key, value in attrs.items()
        if key in {"src", "href", "xlink:href", "action"}
    ]
    assert linked
    assert all(value.startswith("#") for value in linked)
    assert not re.search(r"https?://(?!www\.w3\.org)|@import|url\((?!#)", text)
    assert not any(key.startswith("on") for _, attrs in page.tags for key in attrs)
    assert {tag for tag, _ in page.tags}.isdisjoint({"link", "iframe", "object", "image", "form"})


def test_the_numbers_are_inside_as_json(found, text):
    page = Page(text)
    scripts = page.having("script")
    assert scripts == [{"type": "application/json", "id": "credo-numbers"}]
    numbers = json.loads("".join(page.scripts))
    assert numbers == json.loads(json.dumps(found.to_dict()))
    assert numbers["mean_loss"] == found.mean_loss


def test_names_are_not_repeated_and_links_lead_somewhere(text):
    page = Page(text)
    names = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(names) == len(set(names))
    uses = {attrs["href"][1:] for tag, attrs in page.tags if tag in {"a", "use"}}
    uses |= set(re.findall(r"url\(#([^)]*)\)", text))
    assert uses <= set(names)


def test_tables_headings_and_figures_can_be_read_aloud(text):
    page = Page(text)
    assert len(page.having("h1")) == 1
    assert len(page.having("h2")) == 8
    assert all(attrs.get("scope") in {"col", "row"} for attrs in page.having("th"))
    assert len(page.having("caption")) == len(page.having("table"))
    figures = page.having("svg")
    assert len(figures) == len(page.having("figure")) == len(page.having("figcaption")) == 3
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in figures)
    assert page.having("html") == [{"lang": "en"}]


def test_the_page_says_what_was_found(found, text):
    page = Page(text).text
    lost = found.measures
    assert f"cost {amount(found.mean_loss)} per case on average" in page
    assert f"would have cost {amount(lost.most_probable.loss)}" in page
    assert f"saved {amount(lost.most_probable.saved)} per case" in page
    assert spaced(f"left {share(found.rejected_share)} of the cases to a person (“ask”") in page
    assert f"itself expected a loss of {amount(found.predicted_loss)} per case" in page
    for part in ("Which columns matter", "age", "job", "weight of bad"):
        assert part in page


def test_losses_and_counts_have_their_rows_in_the_same_order(text):
    """The loss was given as good, bad; the model's classes are bad, good."""
    first, second = re.findall(r'<table class="cells">.*?</table>', text, flags=re.DOTALL)
    rows = [re.findall(r'<th scope="row">(.*?)</th>', table) for table in (first, second)]
    assert rows == [["bad", "good"]] * 2
    cells = re.findall(r"<td>(.*?)</td>", first)
    assert cells == ["5", "0", "0.3", "0", "1", "0.3"]


def test_a_column_that_has_not_moved_has_a_shift_of_zero(found, tmp_path):
    age, job = found.columns
    moved = [replace(age, shift=-8e-17), job]
    shown = written(replace(found, columns=moved), tmp_path).partition("<h3>Columns of numbers")[2]
    assert re.search(r'<th scope="row">age</th>.*?<td>0</td></tr>', shown.partition("\n<h3>")[0])


def test_the_same_evaluation_gives_the_same_bytes(found, text, tmp_path):
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": None}):
        assert written(found, tmp_path) == text
    assert mpl.rcParams["svg.fonttype"] == "path"
    assert len(text.encode()) < 300_000
    assert "<metadata" not in text
    assert "currentColor" in text
    assert "#010203" not in text


def test_nothing_from_the_data_becomes_markup(tmp_path):
    labels = (EVIL, WORSE)
    table = {f"{EVIL}{key}" if key == "age" else key: v for key, v in rows(60, labels).items()}
    table["job"] = [EVIL if job == "none" else WORSE for job in table["job"]]
    loss = credo.Loss([[0, 1], [5, 0]], labels, [EVIL, WORSE]).with_reject(0.3, "<b>ask</b>")
    result = replace(evaluated(table, loss), source=f"/data/{EVIL}.csv")
    text = written(result, tmp_path, title=f"{EVIL} & co")
    page = Page(text)
    assert len(page.having("script")) == 1
    assert {tag for tag, _ in page.tags}.isdisjoint({"img", "b"})
    assert json.loads("".join(page.scripts)) == json.loads(json.dumps(result.to_dict()))
    assert "\x00" not in text
    assert "<script>alert" not in text
    assert page.text.count("alert(1)") > 10  # shown as text
    assert "{{ 7 * 7 }}{% raw %}" in page.text
    assert not set("<>&") & set("".join(page.scripts))
    assert text.count("</style>") == 1


def test_names_of_any_script_are_shown_without_a_warning(tmp_path):
    table = rows(60, ("良い", "悪い"))
    loss = credo.Loss.zero_one(["良い", "悪い"])
    text = written(evaluated(table, loss), tmp_path)
    assert "predicted probability of 良い" in text
    broken = replace(evaluated(table, loss), source="bad\udcff.csv")
    assert "bad?.csv" in written(broken, tmp_path)


def test_a_failure_leaves_the_old_file(found, tmp_path):
    place = tmp_path / "report.html"
    place.write_text("old")
    with pytest.raises(InputError, match="needs a TableEvaluation"):
        write_report(found.measures.outcome, place)
    with pytest.raises(UndefinedError, match="kind"):
        write_report(replace(found, columns=[None]), place)
    assert place.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(InputError, match="does not exist"):
        write_report(found, tmp_path / "nowhere" / "report.html")


def test_without_a_reject_act_the_page_says_so(tmp_path):
    page = Page(written(evaluated(rows()), tmp_path)).text
    assert "no way to say “ask a person”" in page
    assert "left to a person" not in page
    assert "leads to the same decisions" in page


def test_a_model_that_does_not_pay_is_called_so(tmp_path):
    cheap = evaluated(rows(), LOSS.with_reject(0.001, "ask"))
    assert "does not pay" not in Page(written(cheap, tmp_path)).text
    model = fit_table(credo.NaiveBayes(), pa.table(rows()), target="y")
    swapped = pa.table(rows(labels=("bad", "good"), seed=3))
    result = evaluate_table(model, swapped, loss=LOSS)
    assert result.measures.constant.saved < 0
    page = Page(written(result, tmp_path)).text
    assert "Under these losses the model does not pay: always to decide “refuse”" in page
    assert "the probabilities are overconfident" in page


def test_gains_are_shown_without_ratios(tmp_path):
    gains = credo.Loss.gains([[2.0, 0.0], [-5.0, 0.0]], ["good", "bad"], ["lend", "refuse"])
    page = Page(written(evaluated(rows(), gains), tmp_path)).text
    assert "cost \N{MINUS SIGN}" in page
    assert "nan" not in page.lower().replace("finance", "")


def test_three_classes_and_all_rows_rejected_have_a_page(tmp_path):
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=90), "y": np.repeat(["a", "b", "c"], 30).tolist()}
    loss = credo.Loss.zero_one(["a", "b", "c"]).with_reject(0.01)
    result = evaluated(table, loss)
    assert result.rejected_share == 1.0
    page = Page(written(result, tmp_path)).text
    assert "this model has 3" in page
    assert "left 100 % of the cases" in page
    assert "most probable class 80" in page


def test_many_classes_are_left_to_the_numbers(tmp_path):
    labels = [f"class {k % 50}" for k in range(500)]
    page = Page(
        written(evaluated({"x": [f"for {label}" for label in labels], "y": labels}), tmp_path)
    )
    assert page.text.count("too large for a page") == 2
    assert "10 more are among the numbers" in page.text  # decision by decision


def test_documents_are_shown_by_their_words(tmp_path):
    mail = ["win cash now"] * 5 + ["lunch at noon"] * 5
    table = pa.table({"text": mail, "y": ["spam"] * 5 + ["ham"] * 5})
    model = fit_table(credo.TextClassifier(), table, target="y")
    page = Page(written(evaluate_table(model, table), tmp_path)).text
    assert "Which words matter" in page
    assert "Words for “spam”" in page
    assert "text (characters)" in page


def test_classes_called_impossible_are_mentioned(tmp_path):
    table = pa.table({"x": ["u", "u", "v"], "y": ["a", "a", "b"]})
    model = fit_table(credo.NaiveBayes(smoothing=0), table, target="y")
    other = pa.table({"x": ["u", "v", "u", None], "y": ["b", "b", "a", "a"]})
    page = Page(written(evaluate_table(model, other), tmp_path)).text
    assert "1 case had a true class that the model called impossible" in page
    assert "Left out: 1 row whose true class the model called impossible" in page
    assert "1 (25.0" in page  # the missing value


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (0.0, "0"),
        (5.0, "5"),
        (0.4, "0.4"),
        (0.48312, "0.483"),
        (-0.0831, "\N{MINUS SIGN}0.0831"),
        (9.996, "10"),
        (1234.5, "1,234"),
        (21.105, "21.1"),
        (1e-7, "1e\N{MINUS SIGN}07"),
        (2.5e12, "2.5e+12"),
    ],
)
def test_amounts_have_three_digits(value, wanted):
    assert amount(value) == wanted


def test_intervals_reach_two_standard_errors_and_are_written_to_two_digits():
    """For 95 % of a normal distribution, 1.96 of them."""
    assert with_error(0.4445, 0.0765) == "0.44 ±\N{NO-BREAK SPACE}0.15"
    assert with_error(-12.34, 0.51) == "\N{MINUS SIGN}12.3 ±\N{NO-BREAK SPACE}1.0"
    assert with_error(0.25, 0.0) == "0.25 ±\N{NO-BREAK SPACE}0"


def test_shares_have_one_digit_and_are_zero_only_if_they_are():
    texts = [spaced(share(value)) for value in (0, 1, 0.0005, 0.0749)]
    assert texts == ["0 %", "100 %", "below 0.1 %", "7.5 %"]


def test_bars_start_at_zero(found, text):
    """Left of it, in orange, what is negative."""
    shown = text.partition('<section id="columns-matter"')[2].partition("</table>")[0]
    bars = re.findall(
        r'(<i class="gap" style="width:([\d.]+)%"></i>)?<i( class="less")? '
        r'style="width:([\d.]+)%"></i>',
        shown,
    )
    rises = [each.rise for each in found.contributions.columns]
    low, high = min(0.0, *rises), max(0.0, *rises)
    assert len(bars) == len(rises)
    for rise, (_, gap, less, width) in zip(rises, bars, strict=True):
        assert float(width) == pytest.approx(100 * abs(rise) / (high - low), abs=0.01)
        assert float(gap or 0) == pytest.approx(100 * (min(rise, 0) - low) / (high - low), abs=0.01)
        assert bool(less) == (rise < 0)


def test_names_are_cut_and_broken_at_their_marks():
    assert breakable("a_b<i>\x1b") == "a_<wbr>b&lt;i&gt;\N{REPLACEMENT CHARACTER}"
    assert breakable("z" * 500 + "y") == "z" * 53 + "…" + "z" * 25 + "y"


def test_wide_tables_are_cut_and_booleans_and_weights_are_shown(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 120)
    table = pa.table({f"x{j}": rng.random(120) < 0.3 + 0.3 * (y == "b") for j in range(70)})
    table = table.append_column("w", pa.array(rng.random(120))).append_column("y", pa.array(y))
    model = fit_table(credo.NaiveBayes(), table, target="y", features=table.column_names[:70])
    result = evaluate_table(model, table, weight="w")
    page = Page(written(result, tmp_path)).text
    assert page.count("10 more are among the numbers") == 2
    assert "weighted by column “w”" in page
    assert spaced(f"true {share(result.columns[0].mean)}") in page
    monkeypatch.setattr("credo.tables.evaluate._MOST_COLUMNS", 60)
    page = Page(written(evaluate_table(model, table), tmp_path)).text
    assert "This part is left out. There are 70 columns" in page


def test_a_sample_and_too_much_caution_are_mentioned(tmp_path, monkeypatch):
    monkeypatch.setattr("credo.tables.evaluate._MOST_SAMPLED", 50)
    model = fit_table(credo.NaiveBayes(), pa.table(rows()), target="y")
    table = rows(400, seed=5)
    table["age"] = np.where(np.array(table["y"]) == "bad", 27.0, 45.0)
    result = evaluate_table(model, pa.table(table), loss=LOSS.with_reject(0.9))
    page = Page(written(result, tmp_path)).text
    assert "Measured on 50 rows, drawn at random" in page
    assert "the probabilities are underconfident" in page
