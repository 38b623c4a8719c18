import assert from "node:assert/strict";
import { curves, EpochReader } from "./epochs.ts";

function read(...lines: string[]): EpochReader["epochs"] {
  const reader = new EpochReader();
  for (const line of lines) reader.read(line);
  return reader.epochs;
}

Deno.test("EpochReader reads what managed training reports", () => {
  const epochs = read(
    "240 pictures; labels: red circle 80, green square 80",
    "training on 192 pictures, validating with 48, at most 80 epochs and 240 s",
    "epoch 1/80 loss 1.1049 validation_loss 1.1436 validation_score 0.3333 seconds 3.3",
    "epoch 2/80 loss 0.9 validation_loss 1e-3 validation_score 1.0000 seconds 2.0",
    "no better for 12 epochs, taking epoch 1",
  );
  assert.deepEqual(epochs, [
    { number: 1, values: { loss: 1.1049, validation_loss: 1.1436, validation_score: 0.3333 } },
    { number: 2, values: { loss: 0.9, validation_loss: 0.001, validation_score: 1 } },
  ]);
  assert.deepEqual(curves(epochs, "loss"), {
    axis: "number",
    names: ["loss", "validation_loss"],
    columns: [[1, 2], [1.1049, 0.9], [1.1436, 0.001]],
  });
  assert.deepEqual(curves(epochs, "scores")?.names, ["validation_score"]);
});

Deno.test("EpochReader reads what Keras and others report", () => {
  const keras = read(
    "Epoch 1/2",
    "10/10 - 1s - 90ms/step - accuracy: 0.5000 - loss: 2.1000 - val_loss: 1.5000",
    "Epoch 2/2",
    "10/10 - 0s - 9ms/step - accuracy: 0.7500 - loss: 1.1000 - val_loss: 0.5000",
  );
  assert.deepEqual(keras.map(({ number }) => number), [1, 2]);
  assert.deepEqual(keras[1]?.values, { accuracy: 0.75, loss: 1.1, val_loss: 0.5 });
  assert.deepEqual(read("Epoch: 3, loss=0.25, f1=0.5"), [
    { number: 3, values: { loss: 0.25, f1: 0.5 } },
  ]);
});

Deno.test("EpochReader begins again with a run that does, and reads nothing into other lines", () => {
  assert.deepEqual(read("epoch 1 loss 2", "epoch 2 loss 1", "epoch 1 loss 3").length, 1);
  assert.deepEqual(read("loss 3", "hello 5", "x".repeat(10_000), "epoch"), []);
  assert.equal(curves([], "loss"), undefined);
});
