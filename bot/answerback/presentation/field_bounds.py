"""The constraints of a field, as a phrase for people. Pure."""

from __future__ import annotations

from answerback.core.labels import Labels
from answerback.core.pattern_words import describe_pattern
from answerback.core.schema_fields import TEXT_KINDS, Field, FieldKind


def describe_bounds(field: Field, labels: Labels) -> str | None:
    """Return a phrase such as ``1 to 10,000``; None if there are no bounds."""
    low = field.min_items or None if field.minimum is None else field.minimum
    high = field.max_items if field.maximum is None else field.maximum
    phrases = []
    if low is not None and high is not None:
        phrases.append(labels.bounds_between.format(low=_number(low), high=_number(high)))
    elif low is not None:
        phrases.append(labels.bounds_low.format(low=_number(low)))
    elif high is not None:
        phrases.append(labels.bounds_high.format(high=_number(high)))
    if field.exclusive_minimum is not None:
        phrases.append(labels.bounds_above.format(low=_number(field.exclusive_minimum)))
    if field.exclusive_maximum is not None:
        phrases.append(labels.bounds_below.format(high=_number(field.exclusive_maximum)))
    return ", ".join(phrases) or None


def describe_format(field: Field, labels: Labels) -> str | None:
    """Return what a field takes in words, such as ``a whole number, 1 to 10``; None if any text or choice fits."""
    kinds = {
        FieldKind.EMAIL: labels.format_email,
        FieldKind.URI: labels.format_address,
        FieldKind.DATE: labels.format_date,
        FieldKind.DATE_TIME: labels.format_time,
        FieldKind.INTEGER: labels.format_whole,
        FieldKind.NUMBER: labels.format_number,
    }
    phrases = (kinds.get(field.kind), describe_constraints(field, labels))
    return ", ".join(filter(None, phrases)) or None


def describe_constraints(field: Field, labels: Labels) -> str | None:
    """Return the bounds, or the lengths and the pattern of a text; None if there are none."""
    if field.kind not in TEXT_KINDS:
        return describe_bounds(field, labels)
    low, high = field.min_length, field.max_length
    phrases = []
    if low and high is not None:
        phrases.append(labels.length_between.format(low=low, high=high))
    elif low or high is not None:
        length = labels.length_low if low else labels.length_high
        phrases.append(length.format(low=low, high=high))
    if field.pattern:
        phrases.append(_describe_pattern(field.pattern, field.description, labels))
    return " · ".join(filter(None, phrases)) or None


def _describe_pattern(pattern: str, description: str | None, labels: Labels) -> str:
    """Return a pattern in words, or as it is; empty if it has no words and the field's description says what fits."""
    text = describe_pattern(pattern, labels)
    if text is None:
        return "" if description else labels.pattern_itself.format(pattern=pattern)
    return text


def _number(value: float) -> str:
    is_whole = isinstance(value, int) or value.is_integer()
    return f"{int(value):,}" if is_whole else repr(value)
