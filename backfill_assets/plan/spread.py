"""What is a number that nobody knows exactly? A range, and what is likely."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A number that nobody knows exactly: `low <= likely <= high`."""

    low: float
    likely: float
    high: float

    def times(self, factor: float) -> Spread:
        return Spread(low=self.low * factor, likely=self.likely * factor, high=self.high * factor)

    def plus(self, other: Spread) -> Spread:
        return Spread(low=self.low + other.low, likely=self.likely + other.likely, high=self.high + other.high)

    def to_plain(self) -> dict[str, float]:
        return {"low": round(self.low, 4), "likely": round(self.likely, 4), "high": round(self.high, 4)}


NO_TIME = Spread(low=0, likely=0, high=0)
