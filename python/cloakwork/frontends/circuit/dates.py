"""Stand-ins for encrypted dates, and for differences of them, while a function is staged."""

from __future__ import annotations

import datetime
from functools import cached_property
from typing import Any

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit import refusals
from cloakwork.frontends.circuit.compared_values import Compare, ComparedValue
from cloakwork.frontends.circuit.symbols import Symbol, Vector
from cloakwork.programs.packing.codings import DAY_BITS, MONTH_BITS, date_code

_MONTHS = 1 << MONTH_BITS
# No leap year, and one.
_YEARS = (2001, 2004)


class EncryptedDays(ComparedValue):
    """Stands for a difference of dates.

    Args:
        days: The days, encrypted.
    """

    __slots__ = ("days",)

    def __init__(self, days: Any) -> None:
        self.days = days

    def compared(self, other: Any, compare: Compare) -> Any:
        return compare(self.days, _days_of(other))

    def __add__(self, other: Any) -> Any:
        if isinstance(other, EncryptedDate | datetime.date):
            return other + self
        return EncryptedDays(self.days + _days_of(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> EncryptedDays:
        return EncryptedDays(self.days - _days_of(other))

    def __neg__(self) -> EncryptedDays:
        return EncryptedDays(-self.days)

    def __abs__(self) -> EncryptedDays:
        return EncryptedDays(abs(self.days))

    def __rsub__(self, other: Any) -> Any:
        if isinstance(other, datetime.date):
            return _computed(other.toordinal() - self.days)
        return EncryptedDays(_days_of(other) - self.days)


class EncryptedDate(ComparedValue):
    """Stands for an encrypted date.

    Args:
        code: The integer that stands for it; None of a date that was computed.
        years: The years that it may be in.
        ordinal: The number of its day, counted from the first of the year 1; None to follow from
            the code.
    """

    def __init__(self, code: Any, years: range, ordinal: Any = None) -> None:
        self._code = code
        self._years = years
        self._ordinal = ordinal

    @property
    def year(self) -> Any:
        """Its year."""
        return self._part() >> DAY_BITS + MONTH_BITS

    @property
    def month(self) -> Any:
        """Its month, from 1 to 12."""
        return self._part() >> DAY_BITS & _MONTHS - 1

    @property
    def day(self) -> Any:
        """Its day of the month."""
        return self._part() & (1 << DAY_BITS) - 1

    def weekday(self) -> Any:
        """Its day of the week, 0 on Mondays."""
        return (self.toordinal() + 6) % 7

    def toordinal(self) -> Any:
        """The number of its day, counted from the first of the year 1."""
        return self._ordinal_of_code if self._ordinal is None else self._ordinal

    @cached_property
    def _ordinal_of_code(self) -> Any:
        """By tables of the days before each year and each month."""
        firsts = [datetime.date(year, 1, 1) for year in self._years]
        place = self.year - self._years.start
        before_year = Vector([each.toordinal() - 1 for each in firsts])[place]
        is_leap = Vector([int(_is_leap(each.year)) for each in firsts])[place]
        before_month = Vector([_days_before(year, month) for year in _YEARS for month in _all()])
        return before_year + (before_month[is_leap * _MONTHS + self.month] + self.day)

    def _part(self) -> Any:
        if self._code is None:
            raise InvalidArgumentError(
                f"cannot take the year, month or day{refusals.at_line()} of a date that was "
                "computed: expected a date that is given; compare it, or take differences of dates"
            )
        return self._code

    def compared(self, other: Any, compare: Compare) -> Any:
        one, two = self, _date_of(other)
        if one._code is None or two._code is None:
            return compare(one.toordinal(), two.toordinal())
        return compare(one._code, two._code)

    def __add__(self, other: Any) -> EncryptedDate:
        return _computed(self.toordinal() + _days_of(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, EncryptedDate | datetime.date):
            return EncryptedDays(self.toordinal() - _date_of(other).toordinal())
        return _computed(self.toordinal() - _days_of(other))

    def __rsub__(self, other: Any) -> EncryptedDays:
        return EncryptedDays(_date_of(other).toordinal() - self.toordinal())


def encrypted_date(code: Symbol, bounds: tuple[int, int]) -> EncryptedDate:
    """The date that an encrypted integer within bounds stands for."""
    first, last = (each >> DAY_BITS + MONTH_BITS for each in bounds)
    return EncryptedDate(code, range(first, last + 1))


def _computed(ordinal: Any) -> EncryptedDate:
    return EncryptedDate(None, range(0), ordinal)


def _date_of(value: Any) -> EncryptedDate:
    """A date, encrypted or clear, with its code and its ordinal."""
    if isinstance(value, EncryptedDate):
        return value
    if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
        raise InvalidArgumentError(
            f"cannot compute with a date{refusals.at_line()}: expected another date, got "
            f"{shown(value)}"
        )
    return EncryptedDate(date_code(value), range(0), value.toordinal())


def _days_of(value: Any) -> Any:
    """The days of a difference, encrypted or clear."""
    if isinstance(value, EncryptedDays):
        return value.days
    if not isinstance(value, datetime.timedelta) or value % datetime.timedelta(days=1):
        raise InvalidArgumentError(
            f"cannot compute with dates{refusals.at_line()}: expected a difference of dates, or a "
            f"datetime.timedelta of whole days, got {shown(value)}"
        )
    return value.days


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _all() -> range:
    return range(_MONTHS)


def _days_before(year: int, month: int) -> int:
    """The days of a year before a month; 0 of what is no month."""
    if not 1 <= month <= 12:
        return 0
    return datetime.date(year, month, 1).timetuple().tm_yday - 1
