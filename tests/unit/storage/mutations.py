"""Damaged and hostile model files, made from good ones."""

from __future__ import annotations

import copy
import json
import struct
import zlib

import numpy as np
from safetensors.numpy import load as read_arrays, save as write_arrays

from credo.storage.files import checksum

#: What a hostile writer puts where something else belongs.
STRANGE = [
    *(None, True, False, 0, 1, 2, -1, 3, 7, 2**31, 2**62, 2**63, 10**30, 0.5, -1.5, 1e308, "", "a"),
    *("full", "tied", "gaussian", "__class__", "os.system", [], {}, [0], [1, 2, 3], {"a": 1}),
    *({"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"list": []}, {"range": [0, 5, 1]}),
    *({"dict": [{"list": ["a"]}, {"list": [1]}]}, {"range": [0, 2**60, 1]}, [[[[[[[[[[]]]]]]]]]]),
    *({"list": {"tuples": ["a", []]}}, {"list": {"json": "a"}}, {"tuple": {"texts": "a"}}),
]
NUMBERS = [0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 2.0**62, 3.0]


def opened(content):
    """Take a file apart: its description as a tree, and its arrays."""
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    return json.loads(header["__metadata__"]["credo"]), read_arrays(content)


def closed(tree, arrays):
    """Put a file together again, with checksums that fit."""
    tree = {name: value for name, value in tree.items() if name not in ("check", "checks")}
    tree["checks"] = {name: checksum(name, array) for name, array in arrays.items()}
    text = json.dumps(tree, separators=(",", ":"))[:-1]
    text += f',"check":"{zlib.crc32(text.encode()):08x}"}}'
    return write_arrays(arrays, metadata={"credo": text})


def damaged(content, rng):
    """Damage a file as disks and networks do."""
    kind, place = rng.integers(5), int(rng.integers(len(content)))
    if kind == 0:
        return content[:place]
    if kind == 1:
        return content[:place] + rng.bytes(int(rng.integers(1, 9))) + content[place:]
    if kind == 2:
        stop = place + int(rng.integers(1, 64))
        return content[:place] + content[stop:]
    changed = bytearray(content)
    if kind == 3:
        changed[place] ^= int(rng.integers(1, 256))
    else:
        stop = min(len(changed), place + int(rng.integers(1, 64)))
        changed[place:stop] = bytes(stop - place)
    return bytes(changed)


def hostile(content, rng):
    """Change what a file says and sign it again: all checksums fit."""
    tree, arrays = opened(content)
    for _ in range(int(rng.integers(1, 4))):
        if arrays and rng.random() < 0.5:
            _change_array(arrays, rng)
        else:
            _change_node(tree, rng)
    return closed(tree, arrays)


def _change_node(tree, rng):
    """Replace, remove, add or copy a node of the description."""
    part = "content" if rng.random() < 0.9 else str(rng.choice(sorted(tree)))
    places = list(_places(tree, part))
    holder, key = places[int(rng.integers(len(places)))]
    kind = rng.integers(6)
    if kind < 3:
        holder[key] = copy.deepcopy(STRANGE[int(rng.integers(len(STRANGE)))])
    elif kind == 3:
        del holder[key]
        if part not in tree:
            tree[part] = None
    elif kind == 4:
        other, name = places[int(rng.integers(len(places)))]
        holder[key] = copy.deepcopy(other[name])
    elif isinstance(holder, dict):
        holder[str(rng.choice(["x", "_problem", "progress", "summary_", "schema_"]))] = holder[key]
    else:
        holder.append(copy.deepcopy(holder[key]))


def _places(holder, key):
    """List all places below one."""
    yield holder, key
    value = holder[key]
    inner = value if isinstance(value, dict) else range(len(value)) if type(value) is list else ()
    for each in inner:
        yield from _places(value, each)


def _change_array(arrays, rng):
    """Change the values, the type, the shape or the name of an array."""
    names = sorted(arrays)
    name = names[int(rng.integers(len(names)))]
    array, kind = arrays[name].copy(), rng.integers(7)
    if kind < 3 and array.size:
        with np.errstate(all="ignore"):
            value = np.array(NUMBERS[int(rng.integers(len(NUMBERS)))]).astype(array.dtype)
        array.reshape(-1)[: int(rng.integers(1, array.size + 1)) if kind else 1] = value
    elif kind == 3:
        types = ["f8", "f4", "i8", "i4", "u1", "?", "u4"]
        with np.errstate(all="ignore"):
            array = array.astype(types[int(rng.integers(len(types)))])
    elif kind == 4:
        shapes = [(-1,), (1, -1), (-1, 1), array.shape[::-1]]
        array = array.reshape(shapes[int(rng.integers(len(shapes)))])
    elif kind == 5:
        array = array.reshape(-1)[: array.size // 2] if array.ndim else array
    else:
        arrays[names[int(rng.integers(len(names)))]] = array
        return
    arrays[name] = array


def forged(content, rng):
    """Change what a file says to something as likely: same types and shapes, checksums that fit."""
    tree, arrays = opened(content)
    names = [name for name in sorted(arrays) if arrays[name].size]
    for _ in range(int(rng.integers(1, 3))):
        if names and rng.random() < 0.8:
            name = names[int(rng.integers(len(names)))]
            with np.errstate(all="ignore"):
                arrays[name] = _forged_array(arrays[name], rng)
        else:
            _change_scalar(tree, rng)
        if len(names) > 1 and rng.random() < 0.1:
            one, two = rng.choice(names, 2, replace=False)
            if (arrays[one].dtype, arrays[one].shape) == (arrays[two].dtype, arrays[two].shape):
                arrays[one], arrays[two] = arrays[two], arrays[one]
    return closed(tree, arrays)


def _forged_array(array, rng):
    """Change some numbers of an array."""
    flat = array.reshape(-1).copy()
    place, other = rng.integers(flat.size, size=2)
    changes = [flat[::-1], rng.permutation(flat), np.zeros_like(flat)]
    if flat.dtype == bool:
        flat[place] ^= True
    elif flat.dtype.kind != "f":
        flat[place] = rng.choice([flat[other], flat[place] + 1])
    else:
        factor = float(rng.choice([0, 0.5, 2, -1, 1e8, 1e-8, 1e160]))
        changes += [-flat, flat * factor]
        flat[place] = rng.choice([flat[place] * factor, flat[place] + rng.normal(), -flat[place]])
    chosen = flat if rng.random() < 0.5 else changes[int(rng.integers(len(changes)))]
    return np.ascontiguousarray(chosen, array.dtype).reshape(array.shape)


def _change_scalar(tree, rng):
    """Change a number, a word or a boolean of the description."""
    places = [
        (holder, key)
        for holder, key in _places(tree, "content")
        if isinstance(holder[key], (bool, int, float, str)) or holder[key] is None
    ]
    if not places:
        return
    holder, key = places[int(rng.integers(len(places)))]
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, (int, float)):
        holder[key] = [0 * value, value + 1, -value, 2 * value, value / 2][int(rng.integers(5))]
    else:
        other, name = places[int(rng.integers(len(places)))]
        holder[key] = copy.deepcopy(other[name])
