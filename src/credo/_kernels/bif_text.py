"""The compiled passes over the bytes of a BIF file: tokens, the numbers they spell, states.

A token is a kind and a span of bytes. Kinds: ``w`` a word, ``q`` a quoted name (its span lacks the
quotes), ``e`` the same with backslashes in it, otherwise one of ``{}()[];`` itself. Blanks, commas
and bars only separate; comments have been blanked before.
"""

import math

import numpy as np

from credo._kernels.tiers import kernel

_QUOTE, _BACKSLASH, _LINE_FEED, _RETURN = ord('"'), ord("\\"), ord("\n"), ord("\r")
_DOT, _PLUS, _MINUS, _SMALL_E, _LARGE_E = ord("."), ord("+"), ord("-"), ord("e"), ord("E")
_WORD, _QUOTED, _ESCAPED = ord("w"), ord("q"), ord("e")

#: What a byte is: part of a word, between tokens, a token by itself, a quote.
_IN_WORD, _BETWEEN, _ALONE, _QUOTES = 0, 1, 2, 3
_SORTS = np.zeros(256, np.uint8)
_SORTS[: ord(" ") + 1] = _BETWEEN
_SORTS[np.frombuffer(b",|", np.uint8)] = _BETWEEN
_SORTS[np.frombuffer(b"{}()[];", np.uint8)] = _ALONE
_SORTS[_QUOTE] = _QUOTES

#: Powers of ten that are exact as floats, and of five that are below 2**63.
_TENS = np.array([10.0**power for power in range(23)])
_FIVES = np.array([5**power for power in range(28)], np.int64)
_EXACT = 2**53
#: Another digit may be added below this, and the sum still fits an int64.
_ROOM = 10**17


@kernel
def tokenise(data, i, kind, start, end):
    """Write the tokens from byte ``i`` on; give their number, or -1 - the byte of a lone quote.

    Tokens for which the arrays are too short are counted only.
    """
    n = 0
    size = data.shape[0]
    while i < size:
        sort = _SORTS[data[i]]
        first = i
        i += 1
        if sort == _BETWEEN:
            continue
        what = data[first]
        last = i
        if sort == _IN_WORD:
            what = _WORD
            while i < size and _SORTS[data[i]] == _IN_WORD:
                i += 1
            last = i
        elif sort == _QUOTES:
            what = _QUOTED
            while i < size and data[i] != _QUOTE and data[i] != _LINE_FEED and data[i] != _RETURN:
                if data[i] == _BACKSLASH:
                    what = _ESCAPED
                    i += i + 1 < size and (data[i + 1] == _QUOTE or data[i + 1] == _BACKSLASH)
                i += 1
            if i >= size or data[i] != _QUOTE:
                return -1 - first
            first += 1
            last = i
            i += 1
        if n < kind.shape[0]:
            kind[n] = what
            start[n] = first
            end[n] = last
        n += 1
    return n


@kernel
def _quotient(m, power):
    """Round m / 10**power correctly, by long division by 5**power; both are below 2**63."""
    divisor = _FIVES[power]
    quotient = m // divisor
    rest = m % divisor
    shift = power
    while quotient < _EXACT:  # one bit more than the 53 that stay
        quotient *= 2
        shift += 1
        if rest >= divisor - rest:
            rest -= divisor - rest
            quotient += 1
        else:
            rest += rest
    odd = rest != 0
    while quotient >= 2 * _EXACT:
        odd = odd or quotient % 2 == 1
        quotient //= 2
        shift -= 1
    quotient += quotient % 2 == 1 and (odd or quotient % 4 == 3)
    return math.ldexp(float(quotient // 2), int(1 - shift))


@kernel
def read_numbers(data, kind, start, end, before, stop, target, out):
    """Write the numbers of entries: those between the tokens before[e] and stop[e] to target[e].

    A token that spells no number gives NaN, one that Python must read infinity. At most 18 digits
    and a moderate power of ten are read here, and correctly rounded: m * 10**p and m / 10**p are
    one rounding of exact numbers for m < 2**53 and p <= 22.
    """
    for e in range(before.shape[0]):
        for t in range(before[e] + 1, stop[e]):
            i = start[t]
            last = end[t]
            negative = i < last and data[i] == _MINUS
            i += i < last and (negative or data[i] == _PLUS)
            m = 0
            power = 0
            digits = 0
            dots = 0
            while i < last:
                digit = np.int64(data[i]) - 48
                if 0 <= digit <= 9:
                    if m < _ROOM:
                        m = m * 10 + digit
                        power -= dots
                    else:
                        dots = 2  # too long for an int64
                    digits += 1
                elif data[i] == _DOT and dots == 0:
                    dots = 1
                else:
                    break
                i += 1
            good = digits > 0 and kind[t] == _WORD
            if i < last and good:
                good = data[i] == _SMALL_E or data[i] == _LARGE_E
                i += 1
                falls = i < last and data[i] == _MINUS
                i += i < last and (falls or data[i] == _PLUS)
                good = good and i < last
                exponent = 0
                while i < last and good:
                    digit = np.int64(data[i]) - 48
                    good = 0 <= digit <= 9
                    exponent = exponent * 10 + digit if exponent < 9999 else exponent
                    i += 1
                power += -exponent if falls else exponent
            value = math.inf
            if not good:
                value = math.nan
            elif m == 0:
                value = 0.0
            elif dots < 2 and m < _EXACT and -22 <= power <= 22:
                value = m * _TENS[power] if power >= 0 else m / _TENS[-power]
            elif dots < 2 and -27 <= power < 0:
                value = _quotient(m, -power)
            out[target[e] + t - before[e] - 1] = -value if negative else value


@kernel
def match_states(data, first, last, owner, first_state, state_start, state_end, recent, out):
    """Write which state of its owner each label spells, or -1.

    Label i is the bytes first[i] to last[i], its owner's states are numbered from
    first_state[owner[i]]. The search starts at the state that the owner had last: rows are mostly
    in order.
    """
    for i in range(first.shape[0]):
        v = owner[i]
        size = last[i] - first[i]
        n_states = first_state[v + 1] - first_state[v]
        s = recent[v]
        found = -1
        for _ in range(n_states):
            a = state_start[first_state[v] + s]
            if state_end[first_state[v] + s] - a == size:
                k = 0
                while k < size and data[first[i] + k] == data[a + k]:
                    k += 1
                if k == size:
                    found = s
                    recent[v] = s
                    break
            s = s + 1 if s + 1 < n_states else 0
        out[i] = found
