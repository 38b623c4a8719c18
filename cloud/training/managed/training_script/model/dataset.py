"""Reading the dataset file, and choosing what to train on."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from model.failure import TrainingFailure
from model.options import OBJECT_DETECTION, SINGLE_LABEL

UNKNOWN = "VIAM_UNKNOWN"
"""Label of images with none of the labels, where every image has to have one."""

VALIDATION_SHARE = 0.2


@dataclass(frozen=True)
class Example:
    """One image with what is known of it."""

    path: Path
    labels: tuple[str, ...]
    """Of the whole image; for object detection those of its boxes."""
    boxes: tuple[tuple[float, float, float, float], ...] = ()
    """y_min, x_min, y_max, x_max as shares of height and width, one for each of `labels`."""


@dataclass(frozen=True)
class Dataset:
    """What is trained on."""

    examples: list[Example]
    labels: list[str]
    """In the order of the model's output."""


def read_dataset(file: Path, model_type: str, wanted: tuple[str, ...] | None) -> Dataset:
    """Reads the dataset, without the images themselves, and says what it found.

    Raises TrainingFailure when a line is wrong or nothing is left to train on.
    """
    found = [_example(file, number, line, model_type) for number, line in _lines(file)]
    labels = list(wanted or sorted({label for example in found for label in example.labels}))
    if not labels:
        what = "box" if model_type == OBJECT_DETECTION else "label"
        raise TrainingFailure(f"none of the dataset's {len(found)} images has a {what}")
    examples = [_with_labels(example, labels) for example in found]
    if model_type == SINGLE_LABEL:
        several = sum(len(example.labels) > 1 for example in examples)
        if several:
            print(f"left out {several} images with more than one of the labels", flush=True)
        examples = [_or_unknown(example) for example in examples if len(example.labels) <= 1]
    counts = Counter(label for example in examples for label in example.labels)
    if counts[UNKNOWN] and UNKNOWN not in labels:
        labels.append(UNKNOWN)
    for label in labels:
        if counts[label] == 0:
            raise TrainingFailure(f"no image is left with the label {label!r}")
    if model_type == SINGLE_LABEL and len(labels) < 2:
        raise TrainingFailure(f"all images have the label {labels[0]!r}; two are needed")
    told = ", ".join(f"{label} {counts[label]}" for label in labels)
    print(f"{len(examples)} images; labels: {told}", flush=True)
    return Dataset(examples, labels)


def split(examples: list[Example], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices to train on and to validate with: of each combination of labels the same share.

    The same examples and seed give the same split.
    """
    random = np.random.default_rng(seed)
    groups: dict[tuple[str, ...], list[int]] = {}
    for index in sorted(range(len(examples)), key=lambda index: str(examples[index].path)):
        groups.setdefault(tuple(sorted(set(examples[index].labels))), []).append(index)
    order = [index for key in sorted(groups) for index in random.permutation(groups[key])]
    # Every fifth along the sorted groups: small groups share one place among them.
    step = round(1 / VALIDATION_SHARE)
    places = np.arange(len(order))
    is_validation = places % step == step // 2
    if not is_validation.any():
        is_validation = places == len(order) // 2
    numbers = np.array(order, dtype=np.int64)
    return numbers[~is_validation], numbers[is_validation]


def _lines(file: Path):
    try:
        with file.open(encoding="utf-8") as lines:
            yield from ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise TrainingFailure(f"cannot read the dataset file {file}: {error}") from error


def _example(file: Path, number: int, line: str, model_type: str) -> Example:
    try:
        fields = json.loads(line)
        path = file.parent / fields["image_path"]
        if model_type == OBJECT_DETECTION:
            found = fields.get("bounding_box_annotations") or []
            boxes = [(box["annotation_label"], _corners(box)) for box in found]
            boxes = [(label, corners) for label, corners in boxes if corners]
            return Example(path, tuple(b[0] for b in boxes), tuple(b[1] for b in boxes))
        found = fields.get("classification_annotations") or []
        labels = dict.fromkeys(annotation["annotation_label"] for annotation in found)
        return Example(path, tuple(labels))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        said = f"has no {error}" if isinstance(error, KeyError) else str(error)
        raise TrainingFailure(f"line {number} of {file.name}: {said}") from error


def _corners(box: dict) -> tuple[float, float, float, float] | None:
    """None for a box without an area inside the image."""
    names = ("y_min_normalized", "x_min_normalized", "y_max_normalized", "x_max_normalized")
    y_min, x_min, y_max, x_max = (min(max(float(box[name]), 0.0), 1.0) for name in names)
    return (y_min, x_min, y_max, x_max) if y_min < y_max and x_min < x_max else None


def _with_labels(example: Example, labels: list[str]) -> Example:
    kept = [at for at, label in enumerate(example.labels) if label in labels]
    boxes = tuple(example.boxes[at] for at in kept) if example.boxes else ()
    return Example(example.path, tuple(example.labels[at] for at in kept), boxes)


def _or_unknown(example: Example) -> Example:
    return example if example.labels else Example(example.path, (UNKNOWN,))
