"""
Phone numbers in E.164: parsed from texts with a country code, or as dialled in the tenant's country.

1. `phonenumbers`, the library of Android's dialler, decides which national numbers are valid; it is imported on demand.
2. A national number has to belong to the country's numbering plan; of one with a country code the length is enough,
   since tests use invented numbers.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import Final

BRAZIL: Final = "BR"
BRAZILIAN_EXAMPLE: Final = "11 99876-5432"

_WRITTEN: Final = re.compile(r"\s*\+?[0-9\s().\-/]+", re.ASCII)
_BRAZILIAN: Final = re.compile(r"\+55[1-9][0-9]{9,10}")  # the library's rule for Brazil, without its import


def normalize_phone(text: str, country: str) -> str | None:
    """Return the number as `+` and its digits, read as it is dialled in the country, or None if it cannot be one."""
    if _WRITTEN.fullmatch(text) is None:
        return None
    if _BRAZILIAN.fullmatch(bare(text)):
        return bare(text)
    phonenumbers = _library()
    try:
        number = phonenumbers.parse(text, country)
    except phonenumbers.NumberParseException:
        return None
    if text.lstrip().startswith("+"):
        fits = phonenumbers.is_possible_number_with_reason(number) == phonenumbers.ValidationResult.IS_POSSIBLE
    else:
        fits = phonenumbers.is_valid_number(number)
    if not fits:
        return None
    normalized: str = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return normalized


def readable(phone: str) -> str:
    """Return a number in E.164 as a person reads it, such as `+55 11 91180-1108`; any other text unchanged."""
    if _BRAZILIAN.fullmatch(phone):
        return f"+55 {phone[3:5]} {phone[5:-4]}-{phone[-4:]}"
    if not phone.startswith("+"):
        return phone
    phonenumbers = _library()
    try:
        number = phonenumbers.parse(phone)
    except phonenumbers.NumberParseException:
        return phone
    international: str = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    return international


def bare(text: str) -> str:
    """Return the text without what only separates its digits."""
    return re.sub(r"[^0-9+]", "", text)


def example(country: str) -> str:
    """Return a number as it is dialled in the country."""
    if country == BRAZIL:
        return BRAZILIAN_EXAMPLE
    phonenumbers = _library()
    number = phonenumbers.example_number_for_type(country, phonenumbers.PhoneNumberType.MOBILE)
    number = number or phonenumbers.example_number(country)
    if not number:
        return "+55 11 99876-5432"
    national: str = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
    return national


def expected(country: str) -> str:
    """Return a description of a valid number for a reason, with an example of the country and one with a country code."""
    return f"a phone number as it is dialled in {country}, such as {example(country)}, or one with its country code, such as +55 11 99876-5432"


def is_country(country: str) -> bool:
    """Return True if numbers of the country, a code of two letters, are supported."""
    if country == BRAZIL:
        return True
    phonenumbers = _library()
    return country in phonenumbers.SUPPORTED_REGIONS


def _library() -> ModuleType:
    """Return the library, which is slow to import and needed for numbers of other countries alone."""
    import phonenumbers

    return phonenumbers
