"""The command line of the script."""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from model.failure import TrainingFailure

SINGLE_LABEL = "single_label"
MULTI_LABEL = "multi_label"
OBJECT_DETECTION = "object_detection"
MODEL_TYPES = (SINGLE_LABEL, MULTI_LABEL, OBJECT_DETECTION)


@dataclass(frozen=True)
class Options:
    """What was asked for."""

    dataset_file: Path
    """JSON lines; the images' paths in it are relative to its folder."""
    output: Path
    model_type: str
    labels: tuple[str, ...] | None
    """Labels to train, in the order of the model's output; None: all of the dataset."""
    num_epochs: int | None
    max_seconds: float | None
    weights: Path | None
    save_weights: Path | None
    seed: int


def read_options(arguments: list[str]) -> Options:
    """Reads the command line. Raises TrainingFailure when a value is wrong."""
    parser = _Parser(prog="model.training", allow_abbrev=False)
    parser.add_argument("--dataset_file", required=True, type=Path, help="JSON lines")
    parser.add_argument("--model_output_directory", required=True, type=Path)
    parser.add_argument("--model_type", choices=MODEL_TYPES, default=SINGLE_LABEL)
    parser.add_argument("--labels", type=_labels, help="JSON list; default: all of the dataset")
    parser.add_argument("--num_epochs", type=_count, help="most passes over the images")
    parser.add_argument("--max_seconds", type=_count, help="when training ends at the latest")
    parser.add_argument("--weights", type=_path, help="start from this file of --save_weights")
    parser.add_argument("--save_weights", type=_path, help="write a .weights.h5 to start from")
    parser.add_argument("--seed", type=int, default=1)
    values = parser.parse_args(arguments)
    return Options(
        dataset_file=values.dataset_file,
        output=values.model_output_directory,
        model_type=values.model_type,
        labels=values.labels,
        num_epochs=values.num_epochs,
        max_seconds=values.max_seconds,
        weights=values.weights,
        save_weights=values.save_weights,
        seed=values.seed,
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise TrainingFailure(message)


def _labels(text: str) -> tuple[str, ...] | None:
    try:
        labels = json.loads(text) if text else []
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON; give [\"cat\", \"dog\"]") from error
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of texts; give [\"cat\", \"dog\"]")
    return tuple(dict.fromkeys(labels)) or None


def _count(text: str) -> int | None:
    if text == "":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _path(text: str) -> Path | None:
    return Path(text) if text else None
