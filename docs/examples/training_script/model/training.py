"""A training script: learns the average colour of the pictures of each tag.

The cloud runs it as `python3 -m model.training --dataset_file=… --model_output_directory=…`, in the
folder that holds the dataset, and makes a model of what it leaves in the output directory.
"""

import argparse
import json
from pathlib import Path

from PIL import Image


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset_file", type=Path, required=True)
    parser.add_argument("--model_output_directory", type=Path, required=True)
    # An argument of one's own: --arg side=8 of `machine-cloud training submit`.
    parser.add_argument("--side", type=int, default=8)
    options = parser.parse_args()

    colours: dict[str, list[list[float]]] = {}
    for line in options.dataset_file.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        colour = average_colour(Path(entry["image_path"]), options.side)
        for annotation in entry.get("classification_annotations", []):
            colours.setdefault(annotation["annotation_label"], []).append(colour)
    if not colours:
        # Whatever ends with another code than 0 makes the job fail; the text says why.
        raise SystemExit("no picture of the dataset has a tag; tag some, and submit the job again")
    model = {label: mean(all_of_it) for label, all_of_it in sorted(colours.items())}
    for label, colour in model.items():
        print(f"{label}: {len(colours[label])} pictures, on average {colour}", flush=True)

    out = options.model_output_directory
    (out / "model.json").write_text(json.dumps(model), encoding="utf-8")
    (out / "labels.txt").write_text("".join(f"{label}\n" for label in model), encoding="utf-8")
    # Numbers in metrics.json are kept with the model.
    (out / "metrics.json").write_text(json.dumps({"labels": len(model)}), encoding="utf-8")


def average_colour(path: Path, side: int) -> list[float]:
    with Image.open(path) as picture:
        small = picture.convert("RGB").resize((side, side))
        pixels = [small.getpixel((x, y)) for x in range(side) for y in range(side)]
    return mean(pixels)


def mean(colours) -> list[float]:
    return [round(sum(channel) / len(colours), 1) for channel in zip(*colours, strict=True)]


if __name__ == "__main__":
    main()
