"""``read_bif``: what bnlearn, pgmpy, pyAgrum and old editors write; bytes and encodings."""

import gzip

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from credo.exceptions import FileFormatError
from credo.formats import _text
from credo.formats._bif_tokens import tokenised
from credo.formats._text import place, read_bytes
from credo.formats.bif import read_bif

PLAIN = """network unknown {
}
variable season {
  type discrete [ 2 ] { dry, wet };
}
variable rain {
  type discrete [ 3 ] { none, some, much };
}
probability ( season ) {
  table 0.75, 0.25;
}
probability ( rain | season ) {
  (dry) 0.5, 0.25, 0.25;
  (wet) 0.125, 0.375, 0.5;
}
"""
RAIN = [[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]]


@pytest.fixture
def read(tmp_path):
    def read(text):
        file = tmp_path / "net.bif"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_bif(file)

    return read


def assert_rain(net):
    assert list(net.names) == ["season", "rain"]
    assert net["rain"].states == ("none", "some", "much")
    assert net.parents("rain") == ("season",)
    assert_array_equal(net.table("season"), [0.75, 0.25])
    assert_array_equal(net.table("rain"), RAIN)


# --- writers --------------------------------------------------------------------------------


def test_pgmpys_dialect_is_read(read):
    assert_rain(
        read("""network unknown {
}
variable season {
    type discrete [ 2 ] { dry, wet };
    property weight = None ;
}
variable rain {
    type discrete [ 3 ] { none, some, much };
}
probability ( season ) {
    table 0.75, 0.25 ;
}
probability ( rain | season ) {
    ( dry ) 0.5, 0.25, 0.25;
    ( wet ) 0.125, 0.375, 0.5;

}
""")
    )


def test_pyagrums_dialect_is_read(read):
    assert_rain(
        read("""network "unnamedBN" {
// written by aGrUM 3.3.1
}

variable season {
   type discrete[2] {dry, wet};
}

variable rain {
   type discrete[3] {none, some, much};
}

probability (season) {
   table 0.75 0.25;
}
probability (rain | season) {
   (dry) 0.5 0.25 0.25;
   (wet) 0.125 0.375 0.5;
}

""")
    )


def test_the_dialect_of_javabayes_is_read(read):
    assert_rain(
        read("""// Bayesian Network in the Interchange Format
// Produced by BayesianNetworks package in JavaBayes
network "Rain" { //2 variables and 2 probability distributions
	property "credal-set constant-density-bounded 1.1" ;
}
variable "season" { //2 values
	type discrete[2] {  "dry"  "wet" };
	property "position = (73, 165)" ;
}
variable "rain" { //3 values
	type discrete[3] {  "none"  "some"  "much" };
	property "position = (90, 200)" ;
}
probability ( "season" ) { //1 variable(s) and 2 values
	table 0.75 0.25 ;
}
probability ( "rain"  "season" ) { //2 variable(s) and 6 values
	table 0.5 0.125 0.25 0.375 0.25 0.5 ;
}
""")
    )


def test_comments_and_properties_are_skipped(read):
    text = PLAIN.replace("network unknown {", 'network "a // b" { property author "me; myself" ;')
    text = text.replace("{ dry, wet };", "{ dry, /* not, damp */ wet }; property x = {1 2} ;")
    text = text.replace("  (dry)", "  property p = (3, 4); // (dry) 1, 0, 0;\n  (dry)")
    text = text.replace("0.375, 0.5;", "0.375,0.5// half\n;;").replace("}\nprob", "};\nprob")
    assert_rain(read(f"// made by hand\n/* over\n two lines */ {text};; /**/ // the end"))


# --- bytes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\n", b"\r"),
        lambda data: data.replace(b"\n", b" "),
        lambda data: data.replace(b" ", b"\t"),
        lambda data: b"\xef\xbb\xbf" + data,
        gzip.compress,
    ],
    ids=["crlf", "cr", "one line", "tabs", "byte order mark", "gzip"],
)
def test_line_ends_marks_and_packing_do_not_matter(read, change):
    assert_rain(read(change(PLAIN.encode())))


def test_a_file_without_blanks_is_read(read):
    text = PLAIN.replace("\n", "").replace(", ", ",").replace(" [ ", "[").replace(" ] ", "]")
    for sign in "{}();|":
        text = text.replace(f" {sign}", sign).replace(f"{sign} ", sign)
    assert_rain(read(text))


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_utf8_is_tried_before_latin1(read, encoding):
    net = read(PLAIN.replace("wet", "naß").encode(encoding))
    assert net["season"].states == ("dry", "naß")


def test_utf16_is_named(read):
    with pytest.raises(FileFormatError, match="UTF-16. Save it as UTF-8"):
        read(PLAIN.encode("utf-16"))


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(FileFormatError, match="no such file"):
        read_bif(tmp_path / "none.bif")
    with pytest.raises(FileFormatError, match="is a folder"):
        read_bif(tmp_path)
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_bif(tmp_path / ("x" * 300))


@pytest.mark.parametrize("cut", [5, 12, 60])
def test_a_damaged_package_is_named(read, cut):
    packed = gzip.compress(PLAIN.encode())
    with pytest.raises(FileFormatError, match="packed file is damaged"):
        read(packed[:cut])


def test_unpacking_stops_at_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "LIMIT", 1000)
    file = tmp_path / "zeros.gz"
    for size, packed in ((1000, True), (1000, False)):
        file.write_bytes(gzip.compress(bytes(size)) if packed else b"a" * size)
        assert len(read_bytes(file)) == size
    for data in (gzip.compress(bytes(10**7)), b"a" * 1001):
        file.write_bytes(data)
        with pytest.raises(FileFormatError, match="larger than 1000 bytes"):
            read_bytes(file)


@pytest.mark.parametrize(
    ("data", "offset", "expected"),
    [
        (b"abc", 0, (1, 1)),
        (b"abc", 3, (1, 4)),
        (b"a\nb\nc", 4, (3, 1)),
        (b"a\r\nb\r\ncd", 7, (3, 2)),
        (b"a\rb", 2, (2, 1)),
        (b"\xef\xbb\xbfab", 4, (1, 2)),
        ("é\nüü!".encode(), 7, (2, 3)),
        ("é\nüü!".encode("latin-1"), 4, (2, 3)),
    ],
)
def test_places_count_lines_and_characters_from_one(data, offset, expected):
    assert place(data, offset) == expected


# --- numbers --------------------------------------------------------------------------------


def numbers(words):
    """Read words as the numbers of one entry."""
    out = np.zeros(len(words))
    tokens = tokenised(" ".join(words).encode(), "words")
    tokens.read_numbers(np.array([-1]), np.array([len(words)]), np.array([0]), out)
    return out


def test_numbers_are_those_of_float():
    generator = np.random.default_rng(0)
    mantissas = generator.integers(0, 10**18, 3000)
    powers = generator.integers(-25, 20, 3000)
    digits = generator.integers(1, 19, 3000)
    words = [
        f"{m // 10 ** (18 - int(d))}e{int(p) - int(d) + 1}"
        for m, p, d in zip(mantissas.tolist(), powers, digits, strict=True)
    ]
    words += [repr(x) for x in generator.random(1000).tolist()]
    words += ["0.5000000000000000277555756156289135", "1e-400", ".5", "5.", "+0.5", "0E5", "1E-2"]
    # halfway between two floats, and one unit to either side
    words += [
        "0.500000000000000055511151231257827",
        "9007199254740993e-16",
        "0.1234567890123456785",
    ]
    found = numbers(words)
    assert found.tobytes() == np.array([float(word) for word in words]).tobytes()


@pytest.mark.parametrize(
    "word", ["nan", "inf", "1_0", "1e", "1e+", "1.2.3", "--1", "0x1", ".", "+", "1e5x", "5-12"]
)
def test_other_words_are_no_numbers(word):
    assert np.isnan(numbers([word])[0])
