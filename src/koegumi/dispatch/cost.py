"""What a job will cost, learned from those that are done: a straight line of seconds over units for each key."""

from __future__ import annotations

from dataclasses import dataclass

GAIN = 0.2  # the weight of the newest observation, once there are enough to have a mean at all
SLOW_OUTLIER = 3.0  # chance makes a job slow, never fast: an observation counts as this many predictions at most
STIFFNESS = 0.05  # how far the units must spread before their slope is believed, in squared means
LARGEST_FIXED_SHARE = 0.5  # so that a long job is never thought to cost less than half its proportional share
SMALLEST_UNITS = 1e-3
SMALLEST_SECONDS = 1e-3


@dataclass
class _Line:
    """Weighted moments of units and seconds; `fixed` and `slope` are the line through them."""

    units: float
    seconds: float
    variance: float = 0.0
    covariance: float = 0.0
    count: int = 1

    def predict(self, units: float) -> float:
        ratio = self.seconds / self.units
        square = STIFFNESS * self.units**2
        slope = (self.covariance + ratio * square) / (self.variance + square)
        fixed = min(max(self.seconds - slope * self.units, 0.0), LARGEST_FIXED_SHARE * self.seconds)
        return fixed + (self.seconds - fixed) / self.units * units

    def observe(self, units: float, seconds: float) -> None:
        seconds = min(seconds, SLOW_OUTLIER * self.predict(units))
        self.count += 1
        gain = max(GAIN, 1 / self.count)
        units_off, seconds_off = units - self.units, seconds - self.seconds
        self.units += gain * units_off
        self.seconds += gain * seconds_off
        self.variance = (1 - gain) * (self.variance + gain * units_off**2)
        self.covariance = (1 - gain) * (self.covariance + gain * units_off * seconds_off)


class CostModel:
    """Seconds of work by key and units: a fixed part and a rate, both exponentially weighted."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    def predict(self, rate_key: str, units: float, first_rate: float) -> float:
        """Seconds of work. `first_rate` (seconds for a unit) is the answer until something was observed."""
        line = self._lines.get(rate_key)
        seconds = line.predict(max(units, SMALLEST_UNITS)) if line else first_rate * units
        return max(seconds, SMALLEST_SECONDS)

    def observe(self, rate_key: str, units: float, seconds: float, first_rate: float) -> None:
        """A job of `units` took `seconds`. The first guess counts as one observation."""
        units, seconds = max(units, SMALLEST_UNITS), max(seconds, SMALLEST_SECONDS)
        if rate_key not in self._lines:
            self._lines[rate_key] = _Line(units, max(first_rate * units, SMALLEST_SECONDS))
        self._lines[rate_key].observe(units, seconds)
