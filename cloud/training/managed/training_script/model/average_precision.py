"""How good a detector is: mean average precision at an overlap of one half."""

from collections.abc import Sequence

import numpy as np

ENOUGH_OVERLAP = 0.5

Found = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Boxes [N, 4], classes [N] and scores [N] that a detector gave for an image."""
Truth = tuple[np.ndarray, np.ndarray]
"""Boxes [M, 4] and classes [M] that are in an image."""


def mean_average_precision(found: Sequence[Found], truth: Sequence[Truth], classes: int) -> float:
    """The mean over all classes that occur of the area under precision by recall."""
    values = [_average_precision(found, truth, kind) for kind in range(classes)]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else 0.0


def _average_precision(
    found: Sequence[Found], truth: Sequence[Truth], kind: int
) -> float | None:
    """None when nothing of this class is there to be found."""
    scores: list[float] = []
    is_right: list[bool] = []
    there = 0
    for (boxes, classes, sure), (true_boxes, true_classes) in zip(found, truth, strict=True):
        of_kind = classes == kind
        wanted = true_boxes[true_classes == kind]
        there += len(wanted)
        order = np.argsort(-sure[of_kind], kind="stable")
        scores.extend(sure[of_kind][order])
        is_right.extend(_hits(boxes[of_kind][order], wanted))
    if there == 0:
        return None
    if not scores:
        return 0.0
    right = np.array(is_right)[np.argsort(-np.array(scores), kind="stable")]
    hits = np.cumsum(right)
    precision = hits / np.arange(1, len(hits) + 1)
    # At each recall the best precision that is reached there or further on.
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.sum(precision[right]) / there)


def _hits(boxes: np.ndarray, wanted: np.ndarray) -> list[bool]:
    """For boxes, surest first: does it hit something that none before it hit?"""
    is_taken = np.zeros(len(wanted), bool)
    hits = []
    for box in boxes:
        shares = np.where(is_taken, 0.0, _overlaps(box, wanted))
        is_hit = len(shares) > 0 and shares.max() >= ENOUGH_OVERLAP
        if is_hit:
            is_taken[shares.argmax()] = True
        hits.append(bool(is_hit))
    return hits


def _overlaps(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    shared = np.prod(np.maximum(sides, 0.0), axis=1)
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1)
    return shared / np.maximum(np.prod(box[2:] - box[:2]) + areas - shared, 1e-9)
