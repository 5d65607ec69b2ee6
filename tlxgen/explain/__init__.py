"""What the keys, values and words of specs, plans and messages mean: `tlxgen explain`.

Keys and values are explained by the JSON Schema's own texts, words by words.md beside this file.
"""

from .commented import SCHEMA, commented, uncommented
from .keys import ARCHES, Key, keys_of
from .topics import Found, find, nearest
from .words import Word, words

__all__ = [
    "ARCHES",
    "SCHEMA",
    "Found",
    "Key",
    "Word",
    "commented",
    "find",
    "keys_of",
    "nearest",
    "uncommented",
    "words",
]
