import assert from "node:assert/strict";
import { annotationsOf } from "./annotations.ts";
import type { OutputTensor } from "../../shared/inference/tensors.ts";

const output = (
  name: string,
  shape: number[],
  values: number[],
  type: OutputTensor["type"] = "float32",
) => ({
  ...{ name, shape, values, type },
});

Deno.test("annotationsOf() reads classes from probabilities, bytes and logarithms", () => {
  const labels = ["cat", "dog", "bird"];
  const names = (tensor: OutputTensor) =>
    annotationsOf([tensor], labels).classifications?.map(({ label, confidence }) => [
      label,
      Number(confidence?.toFixed(2)),
    ]);
  assert.deepEqual(names(output("out", [1, 3], [0.2, 0.7, 0.01])), [["dog", 0.7], ["cat", 0.2]]);
  assert.deepEqual(names(output("out", [1, 3], [0, 255, 51], "uint8")), [["dog", 1], [
    "bird",
    0.2,
  ]]);
  assert.deepEqual(names(output("out", [1, 3], [1, 3, -9])), [["dog", 0.88], ["cat", 0.12]]);
  assert.deepEqual(annotationsOf([output("a", [1], [1]), output("b", [1], [1])], labels), {});
});

Deno.test("annotationsOf() reads boxes by the names of the outputs, or by their form", () => {
  const boxes = [0.1, 0.2, 0.5, 0.6, 0, 0, 2, 1];
  const named = [
    output("category", [1, 2], [1, 0]),
    output("score", [1, 2], [0.9, 0.01]),
    output("location", [1, 2, 4], boxes),
    output("count", [1], [2]),
  ];
  const expected = [{
    ...{ id: "0", label: "dog", confidence: 0.9 },
    ...{ xMinNormalized: 0.2, yMinNormalized: 0.1, xMaxNormalized: 0.6, yMaxNormalized: 0.5 },
  }];
  assert.deepEqual(annotationsOf(named, ["cat", "dog"]).bboxes, expected);
  const unnamed = named.slice(0, 3).map((each, n) => ({ ...each, name: `Identity:${n}` }));
  assert.deepEqual(annotationsOf(unnamed, ["cat", "dog"]).bboxes, expected);
});
