"""BIF files read the slow way: one regular expression, one token and one row at a time.

Knows no errors: the text is taken to be right. Names with blanks must be in quotes.
"""

import itertools
import re

TOKEN = re.compile(
    r"""
      (?P<space> [\s,|]+ | //[^\r\n]* | /\*.*?\*/ )
    | " (?P<quoted> (?: \\["\\] | [^"\r\n] )* ) "
    | (?P<sign> [{}()\[\];] )
    | (?P<word> (?: (?!//|/\*) [^\s{}()\[\],;|"] )+ )
    """,
    re.VERBOSE | re.DOTALL,
)


def assert_same(net, other, *, ordered=True):
    """Compare two networks: names, states, parents, and numbers bit for bit."""
    assert list(net.names) == list(other.names) or not ordered
    assert len(net) == len(other)
    for name in net.names:
        assert net[name] == other[name]
        assert list(map(type, net[name].states)) == list(map(type, other[name].states))
        assert net.parents(name) == other.parents(name)
        assert net.table(name).tobytes() == other.table(name).tobytes()


def tokens(text):
    """Give the tokens: a sign stands for itself, a name is in a tuple of its own."""
    found = []
    for match in TOKEN.finditer(text.removeprefix("\ufeff")):
        if match["quoted"] is not None:
            found.append((re.sub(r'\\(["\\])', r"\1", match["quoted"]),))
        elif match["sign"]:
            found.append(match["sign"])
        elif match["word"]:
            found.append((match["word"],))
    return found


def until(words, sign):
    """Take tokens away up to a sign, which goes too."""
    taken = []
    while (token := words.pop(0)) != sign:
        taken.append(token[0] if isinstance(token, tuple) else token)
    return taken


def read(text):
    """Give {variable: states} and {variable: (parents, {parent states: row})}."""
    words = tokens(text)
    states, tables = {}, {}
    while words:
        head = until(words, "{")
        if head[0] == "network":
            until(words, "}")
        elif head[0] == "variable":
            while words[0] != "}":
                statement = until(words, ";")
                if statement[0] == "type":
                    states[head[1]] = statement[statement.index("{") + 1 : -1]
            words.pop(0)
        else:
            child, *parents = head[2:-1]
            tables[child] = parents, entries(words)
    return states, {child: filled(child, *table, states) for child, table in tables.items()}


def entries(words):
    """Take the entries of one table away."""
    found = []
    while words[0] != "}":
        if words[0] == "(":
            words.pop(0)
            key = tuple(until(words, ")"))
            found.append((key, [float(word) for word in until(words, ";")]))
        else:
            kind, *rest = until(words, ";")
            if kind != "property":
                found.append((kind, [float(word) for word in rest]))
    words.pop(0)
    return found


def filled(child, parents, rows, states):
    """Give the row for each combination of the parents' states."""
    combinations = list(itertools.product(*(states[parent] for parent in parents)))
    table = {}
    for key, row in rows:
        if key == "default":
            table = dict.fromkeys(combinations, row) | table
        elif key == "table":
            n = len(combinations)
            table |= {
                each: [row[c * n + r] for c in range(len(states[child]))]
                for r, each in enumerate(combinations)
            }
        else:
            table[key] = row
    return parents, {each: table[each] for each in combinations}
