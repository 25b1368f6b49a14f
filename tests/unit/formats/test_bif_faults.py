"""``read_bif``: each damage is named with its line, its column and the remedy."""

import re

import pytest
from tests.work import bytes_in

from credo.exceptions import FileFormatError
from credo.formats.bif import read_bif

#: Line by line, so that places can be counted.
LINES = [
    "network unknown {",  # 1
    "}",
    "variable rain {",  # 3
    "  type discrete [ 2 ] { no, yes };",
    "}",
    "variable grass {",  # 6
    "  type discrete [ 2 ] { dry, wet };",
    "}",
    "probability ( rain ) {",  # 9
    "  table 0.75, 0.25;",
    "}",
    "probability ( grass | rain ) {",  # 12
    "  (no) 0.5, 0.5;",
    "  (yes) 0.25, 0.75;",
    "}",
]
TEXT = "\n".join(LINES)

#: What is replaced, by what, and the line, the column and the words of the error.
FAULTS = {
    "unknown state": ("(yes)", "(yess)", 14, 4, "'rain' has no state 'yess'. Did you mean 'yes'"),
    "state of another case": ("(yes)", "(Yes)", 14, 4, "Did you mean 'yes'"),
    "unknown parent": ("| rain", "| rian", 12, 23, "No variable 'rian' is declared. Did you mean"),
    "unknown child": ("( grass |", "( gras |", 12, 15, "No variable 'gras' is declared. Did you"),
    "row twice": ("(yes)", "(no)", 14, 3, "given on line 13 already"),
    "default twice": ("(yes)", "default 0, 1; default", 14, 17, "given on line 14 already"),
    "table and rows": ("(yes) 0.25", "table 1, 0, 0.25", 14, 3, "given on line 13 already"),
    "row missing": ("  (yes) 0.25, 0.75;", "", 15, 1, "of 'grass' given rain=yes. Add"),
    "all rows missing": (
        "  (no) 0.5, 0.5;\n  (yes) 0.25, 0.75;", "", 12, 30, "or a default row"
    ),
    "too few": ("0.25, 0.75;", "1.0;", 14, 3, "Expected 2 probabilities .*Got 1"),
    "too many": ("0.75, 0.25;", "0.75, 0.25, 0;", 10, 3, "Expected 2 probabilities.*Got 3"),
    "none": ("table 0.75, 0.25;", "table ;", 10, 3, "Expected 2 probabilities.*Got 0"),
    "too many states": ("(yes)", "(yes, no)", 14, 3, "Expected 1 states.*Got 2. Quote"),
    "no states": ("(yes)", "()", 14, 3, "Expected 1 states, one for each parent of 'grass'"),
    "negative": ("0.25, 0.75;\n}", "-0.25, 1.25;\n}", 14, 9, "'-0.25'. A probability is not neg"),
    "no number": ("0.25, 0.75;\n}", "O.25, 0.75;\n}", 14, 9, "Expected a probability. Got 'O.25'"),
    "quoted number": ("0.25, 0.75;\n}", '"0.25", 0.75;\n}', 14, 10, "Expected a probability"),
    "nan": ("0.25, 0.75;\n}", "NaN, NaN;\n}", 14, 9, "Got 'NaN'. R writes it for states"),
    "huge": ("0.25, 0.75;\n}", "1e999, 0.75;\n}", 14, 9, "Expected a probability. Got '1e999'"),
    "sum": ("0.25, 0.75;\n}", "0.25, 0.7;\n}", 14, 3, "given rain=yes sum to 0.95, not"),
    "sum without parents": ("0.75, 0.25;", "0.75, 0.5;", 10, 3, "of 'rain' sum to 1.25, not to 1"),
    "all zero": ("0.25, 0.75;\n}", "0, 0;\n}", 14, 3, "sum to 0, not to 1"),
    "no semicolon": ("0.25, 0.75;\n}", "0.25, 0.75\n}", 15, 1, "Expected a semicolon"),
    "no semicolon between": ("(no) 0.5, 0.5;", "(no) 0.5, 0.5", 14, 3, "Got '\\('. Check the"),
    "row without brackets": ("(yes)", "yes", 14, 3, "Expected a row such as .* Got 'yes'"),
    "row of braces": ("(yes)", "{yes}", 14, 3, "Expected a row such as"),
    "bracket not closed": ("(yes) 0.25, 0.75", "(yes 0.25, 0.75", 14, 18, "Expected \\)"),
    "bracket in bracket": ("(yes)", "((yes)", 14, 4, "Expected a state of a parent. Got '\\('"),
    "variable twice": ("variable grass", "variable rain", 6, 10, "'rain' is declared twice"),
    "its own parent": ("| rain", "| grass", 12, 1, "twice in the head of 'grass'"),
    "parent twice": ("| rain", "| rain, rain", 12, 1, "twice in the head of 'grass'"),
    "table twice": ("( grass | rain )", "( rain )", 12, 1, "of 'rain' are given twice"),
    "no table": ("probability ( rain ) {\n  table 0.75, 0.25;\n}", "", 3, 10, "'rain' has no prob"),
    "state twice": ("{ dry, wet }", "{ dry, dry }", 7, 30, "The state 'dry' is listed twice"),
    "fewer states": ("{ dry, wet }", "{ dry }", 7, 25, "declares 2 states but lists 1"),
    "more states": ("{ dry, wet }", "{ dry, wet, x }", 7, 25, "declares 2 states but lists 3"),
    "no state": ("{ dry, wet }", "{ }", 7, 25, "Expected at least one state. Got '}'"),
    "a billion states": ("[ 2 ] { dry", "[ 1000000000 ] { dry", 7, 34, "1000000000 states but"),
    "digits without end": ("[ 2 ] { dry", f"[ {'9' * 5000} ] {{ dry", 7, 19, "number of states"),
    "no size": ("[ 2 ] { dry", "[ ] { dry", 7, 8, "Expected discrete \\[ number"),
    "odd size": ("[ 2 ] { dry", "[ two ] { dry", 7, 19, "the number of states. Got 'two'"),
    "continuous": ("discrete [ 2 ] { dry", "continuous [ 2 ] { dry", 7, 8, "Expected discrete"),
    "no type": ("type discrete [ 2 ] { dry, wet };", "", 8, 1, "Expected a type, such as"),
    "two types": ("{ dry, wet };", "{ dry, wet }; type x;", 7, 37, "Expected one type, or"),
    "odd statement": ("{ dry, wet };", "{ dry, wet }; tipe x;", 7, 37, "type, or property. Got"),
    "odd state": ("{ dry, wet }", "{ dry, (wet) }", 7, 30, "Expected names of states, then };"),
    "type without end": ("{ dry, wet };", "{ dry, wet }", 8, 1, "Expected a semicolon"),
    "type with more": ("{ dry, wet };", "{ dry, wet } x;", 7, 36, "Expected names of states, th"),
    "no name": ("variable grass {", "variable {", 6, 10, "Expected the name of one variable"),
    "two names": ("variable grass {", "variable a, b {", 6, 13, "the name of one variable"),
    "odd name": ("variable grass {", "variable (grass) {", 6, 10, "the name of one variable"),
    "no child": ("( grass | rain )", "( )", 12, 13, "Expected \\( child | parents \\)"),
    "no brackets": ("( grass | rain )", "grass", 12, 13, "Expected \\( child | parents \\)"),
    "odd head": ("( grass | rain )", "( [grass] )", 12, 15, "Expected names of variables"),
    "other block": ("variable grass {", "varible grass {", 6, 1, "Expected a block that starts"),
    "text between": ("variable grass", "As we know:\nvariable grass", 6, 1, "in /\\* a comm"),
    "brace not closed": ("0.25;\n}", "0.25;\n", 9, 22, "This brace is not closed"),
    "brace closed twice": ("0.25;\n}", "0.25;\n}}", 11, 2, "No brace is open here"),
    "quote not closed": ("{ dry, wet }", '{ "dry, wet }', 7, 25, "quote is not closed on its line"),
    "quote at the end": ("0.25, 0.75;\n}", '0.25, 0.75;\n}\n"', 16, 1, "quote is not closed"),
    "comment not closed": ("0.25, 0.75;\n}", "0.25, 0.75;\n} /* x", 15, 3, "comment is not closed"),
    "rest": ("0.25, 0.75;\n}", "0.25, 0.75;\n}; probability", 15, 2, "Expected a block"),
}  # fmt: skip


@pytest.fixture
def reading(tmp_path):
    def reading(text):
        file = tmp_path / "damaged.bif"
        file.write_bytes(text.encode())
        with pytest.raises(FileFormatError) as caught:
            read_bif(file)
        assert caught.value.path == str(file)
        return caught.value

    return reading


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_place(reading, name):
    old, new, line, column, words = FAULTS[name]
    assert old in TEXT
    error = reading(TEXT.replace(old, new, 1))
    assert re.search(words, error.reason), error
    assert (error.line, error.column) == (line, column), error


def test_a_cycle_is_named(reading):
    text = TEXT.replace("( rain )", "( rain | grass )")
    text = text.replace("table 0.75, 0.25;", "default 0.75, 0.25;")
    assert "cycle" in reading(text).reason


@pytest.mark.parametrize("text", ["", "  \n", "// nothing", "network unknown {\n}\n"])
def test_a_file_without_variables_is_named(reading, text):
    assert "declares no variable" in reading(text).reason


def test_places_are_right_after_comments_and_other_letters(reading):
    error = reading("/* größer\n\n */ /* ü */ " + TEXT.replace("(yes)", "/* é */ (é)"))
    assert (error.line, error.column) == (16, 12)
    assert "no state 'é'" in error.reason


# --- sizes ----------------------------------------------------------------------------------


def wide(parents, states, entry):
    """A child with many parents of many states."""
    listed = ", ".join(f"s{i}" for i in range(states))
    even = ", ".join(["0"] * (states - 1) + ["1"])
    names = [f"p{i}" for i in range(parents)]
    text = "".join(
        f"variable {name} {{ type discrete [ {states} ] {{ {listed} }}; }}\n"
        for name in ["child", *names]
    )
    text += "".join(f"probability ( {name} ) {{ table {even}; }}\n" for name in names)
    return f"{text}probability ( child | {', '.join(names)} ) {{ {entry.format(even)} }}\n"


@pytest.mark.parametrize(
    ("parents", "states", "entry", "words"),
    [
        (30, 10, "table {};", f"has {10**31} cells"),
        (30, 10, "default {};", f"has {10**31} cells; all tables together may have {2**27}"),
        (27, 2, "default {};", f"has {2**28} cells"),
        (6, 10, "({}) 1;", f"has {10**7} cells, more than its block holds"),
        (6, 10, "table {};", "Give a row for all states of the parents, or a default row"),
    ],
)
def test_sizes_are_checked_before_memory_is_taken(reading, parents, states, entry, words):
    text = wide(parents, states, entry)
    assert words in reading(text).reason
    assert bytes_in(reading, text) < 20e6


def test_the_tables_count_together(reading, monkeypatch, tmp_path):
    from credo.formats import _bif_rows

    monkeypatch.setattr(_bif_rows, "MOST_CELLS", 100)
    file = tmp_path / "net.bif"
    text = wide(3, 3, "default {};")
    assert 3 * 3 + 81 < 100 < 3 * 3 + 81 + 81
    file.write_text(text)
    assert read_bif(file).table("child").size == 81
    twice = text.replace("child", "other").splitlines()
    text += "\n".join([twice[0], twice[-1]])
    assert "all tables together may have 100" in reading(text).reason
