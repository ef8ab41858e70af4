"""Whose account is it? Names and accounts of people, told apart or known to be one person's.

What an approval may open is decided by `same_person`, which takes nobody for somebody else; whether an author approved
their own plan by `perhaps_same`, which rather takes two names for one person too often.
"""

from __future__ import annotations

from collections.abc import Mapping

People = Mapping[str, tuple[str, ...]]
"""Person (usually an e-mail address) → the accounts that act for them: names of users, as systems assert them."""


def person_of(people: People, name: str) -> str:
    """The person that a name or an account is of; the name itself when nobody lists it.

    >>> person_of({"ana@example.com": ("ana", "ana.k")}, "ana.k")
    'ana@example.com'
    >>> person_of({"ana@example.com": ("ana",)}, "bo")
    'bo'
    """
    for person, accounts in people.items():
        if folded(name) in (folded(person), *map(folded, accounts)):
            return person
    return name


def same_person(people: People, one: str, other: str) -> bool:
    """Whether two names are known to be of one person: they are equal, or `people` lists both for one.

    >>> same_person({"ana@example.com": ("ana",)}, "ana", "ana@example.com")
    True
    >>> same_person({}, "ana", "ana@example.com")
    False
    """
    return bool(one and other) and folded(person_of(people, one)) == folded(person_of(people, other))


def is_listed(people: People, name: str) -> bool:
    """Whether `people` knows a name, as a person's or an account's, in whatever letters.

    >>> is_listed({"ana@example.com": ("ana",)}, "Ana@Example.com"), is_listed({"ana@example.com": ("ana",)}, "bo")
    (True, False)
    """
    return folded(name) in {folded(known) for person, accounts in people.items() for known in (person, *accounts)}


def perhaps_same(people: People, one: str, other: str) -> bool:
    """Whether two names may be of one person. Where `people` does not list both, what is before an @ has to differ.

    >>> perhaps_same({}, "ana", "ana@example.com")
    True
    >>> perhaps_same({"ana@example.com": ("ana.k",), "ana@other.com": ("ana",)}, "ana", "ana@example.com")
    False
    """
    if same_person(people, one, other):
        return True
    if is_listed(people, one) and is_listed(people, other):
        return False
    return bool(one and other) and _local(one) == _local(other)


def folded(name: str) -> str:
    """A name as all comparisons of names take it.

    >>> folded(" Ana@Example.com")
    'ana@example.com'
    """
    return name.strip().casefold()


def _local(name: str) -> str:
    return folded(name).partition("@")[0]
