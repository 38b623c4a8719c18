import assert from "node:assert/strict";
import { join } from "node:path";
import { encode } from "fast-png";
import { runPython } from "../e2e/python_sdk.ts";
import { eventually, READY_LINE, rigTest } from "../e2e/rig.ts";

const MODEL = new URL("../training/tflite_model/box.tflite", import.meta.url);
const DOCUMENT = new URL("../../docs/services.md", import.meta.url);

/** 64 × 48 pixels, the upper left quarter of them red. */
const PICTURE = encode({
  ...{ width: 64, height: 48, channels: 3 },
  data: Uint8Array.from({ length: 64 * 48 * 3 }, (_, at) => {
    const [x, y] = [Math.floor(at / 3) % 64, Math.floor(at / 3 / 64)];
    return x >= 32 || y >= 24 ? 90 : at % 3 === 0 ? 230 : 10;
  }),
});

rigTest("the published Python SDK sees what docs/services.md configures", async (rig) => {
  const [frame, models] = [join(rig.dir, "frame.png"), join(rig.dir, "boxes")];
  await Deno.writeFile(frame, PICTURE);
  await Deno.mkdir(models);
  await Deno.copyFile(MODEL, join(models, "box.tflite"));
  await Deno.writeTextFile(join(models, "labels.txt"), "apple\n");
  const text = /```json\n([^`]*)```/.exec(await Deno.readTextFile(DOCUMENT))?.[1] ?? "";
  const example = JSON.parse(
    text.replaceAll("/var/lib/pictures/frame.png", frame)
      .replaceAll("${packages.ml_model.boxes}", models),
  );
  const file = join(rig.dir, "vision.json");
  const network = { bind_address: `127.0.0.1:${rig.serverPort}` };
  await Deno.writeTextFile(file, JSON.stringify({ ...example, network }));
  const server = rig.spawn("machine-server", ["-config", file]);
  await server.waitForLine(READY_LINE, 120_000);
  await eventually("the model runs", async () => {
    const method = "viam.service.vision.v1.VisionService/GetDetectionsFromCamera";
    const response = await fetch(`http://127.0.0.1:${rig.serverPort}/${method}`, {
      signal: AbortSignal.timeout(60_000),
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "finder" }),
    });
    await response.body?.cancel();
    return response.ok;
  });

  const { stdout } = await runPython(new URL("vision_tour.py", import.meta.url), [
    ...[`127.0.0.1:${rig.serverPort}`, frame],
  ]);
  const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
  const found = JSON.parse(last) as Record<string, unknown>;
  assert.deepEqual(found["metadata"], ["box", "tflite_detector", join(models, "labels.txt")]);
  assert.equal(found["score"], 0.75);
  assert.deepEqual(found["location"], [0, 0, 0.5, 0.5]);
  assert.match(String(found["wrong_type"]), /image: holds float32, the model takes uint8/);
  assert.deepEqual(found["camera"], [{
    ...{ xMin: "0", yMin: "0", xMax: "32", yMax: "24", confidence: 0.75, className: "apple" },
    ...{ xMinNormalized: 0, yMinNormalized: 0, xMaxNormalized: 0.5, yMaxNormalized: 0.5 },
  }]);
  assert.deepEqual(found["image"], ["apple"]);
  assert.deepEqual(found["red"], [["red", 32, 24]]);
  assert.deepEqual(found["all"], [64, 1, []]);
  assert.deepEqual(found["properties"], [true, false, false]);
  assert.match(String(found["classify"]), /UNIMPLEMENTED.*has no classes/);
  assert.match(String(found["points"]), /UNIMPLEMENTED.*detector_3d_segmenter/);
});
