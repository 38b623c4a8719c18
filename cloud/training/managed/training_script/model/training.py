"""python3 -m model.training --dataset_file=FILE --model_output_directory=FOLDER --key=value"""

import json
import os
import shutil
import sys
import time

# Before TensorFlow is loaded: its notes about the processor are not for the job's log.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import tensorflow as tf

from model.classifier import Classifier
from model.dataset import Dataset, read_dataset, split
from model.detector import Detector
from model.failure import TrainingFailure
from model.fitting import fit, plan
from model.images import input_side, load_images
from model.network import load_weights, save_weights
from model.options import OBJECT_DETECTION, Options, read_options

FEWEST_IMAGES = 5
"""One of five is for validation."""
MOST_LOST = 0.05
"""Difference of a metric between the network and its file that rounding may make."""


def train(options: Options) -> dict[str, float]:
    """Trains a model, writes it with its labels, and gives its metrics."""
    keras.utils.set_random_seed(options.seed)
    dataset = read_dataset(options.dataset_file, options.model_type, options.labels)
    kind = Detector if options.model_type == OBJECT_DETECTION else Classifier
    paths = [example.path for example in dataset.examples]
    side = input_side(paths, kind.smallest_side, kind.largest_side)
    images, kept = load_images(paths, side, options.output / "tmp" / "images")
    if len(kept) < FEWEST_IMAGES:
        raise TrainingFailure(f"{len(kept)} images are left; {FEWEST_IMAGES} are needed")
    dataset = Dataset([dataset.examples[index] for index in kept], dataset.labels)

    model = kind(dataset.labels, side, options.model_type)
    if options.weights:
        load_weights(model.backbone, options.weights)
    learned, held_back = split(dataset.examples, options.seed)
    limits = plan(len(learned), options.num_epochs, options.max_seconds, model.batch)
    start = f"the weights of {options.weights.name}" if options.weights else "scratch"
    print(
        f"training on {len(learned)} images, validating with {len(held_back)}, input {side} x "
        f"{side}, {model.network.count_params()} parameters, from {start}, at most "
        f"{limits.epochs} epochs and {limits.seconds:.0f} s",
        flush=True,
    )
    targets = model.targets(dataset)
    best = fit(
        model.network,
        model.loss,
        images,
        targets,
        learned,
        lambda: model.judge(images, targets, held_back),
        limits,
        options.seed,
    )
    if options.save_weights:
        save_weights(model.backbone, options.save_weights)
    file = options.output / "model.tflite"
    model.write(file)
    lines = "".join(f"{label}\n" for label in dataset.labels)
    (options.output / "labels.txt").write_text(lines, encoding="utf-8")
    print(f"wrote {file.name} ({file.stat().st_size} bytes) and labels.txt", flush=True)
    metrics = model.measure(file, images, targets, held_back)
    if not all(abs(value - best.score) <= MOST_LOST for value in metrics.values()):
        raise TrainingFailure(
            f"the written model is not the trained one: {metrics}, and it had {best.score:.4f}"
        )
    return metrics


def main(arguments: list[str]) -> int:
    """Runs the command line; 1 after a line about what went wrong."""
    started = time.monotonic()
    try:
        options = read_options(arguments)
        options.output.mkdir(parents=True, exist_ok=True)
        try:
            metrics = train(options)
        finally:
            shutil.rmtree(options.output / "tmp", ignore_errors=True)
        told = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        passed, used = time.monotonic() - started, time.process_time()
        print(f"done in {passed:.0f} s, {used:.0f} s of processor time: {told}", flush=True)
        (options.output / "metrics.json").write_text(json.dumps(metrics) + "\n")
        return 0
    except (TrainingFailure, OSError) as failure:
        print(f"error: {failure}", file=sys.stderr, flush=True)
    except (MemoryError, tf.errors.ResourceExhaustedError):
        print("error: there is not enough memory for this job", file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
