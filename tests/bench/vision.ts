import { join } from "node:path";
import jpeg from "jpeg-js";
import { descendants } from "../e2e/process_tree.ts";
import { eventually, READY_LINE, Rig } from "../e2e/rig.ts";
import { detectorModel } from "./detector_model.ts";
import { processorMs } from "./footprint.ts";
import { percentile, type Reporter } from "./report.ts";

const SIDE = 300;
const FRAME = { width: 640, height: 480 };
const FRAMES = 100;

/** Detections of a camera's images of 640 × 480 with a model of 300 × 300, two calls in flight. */
export async function benchVision(reporter: Reporter, frames = FRAMES): Promise<void> {
  reporter.note(`detections in ${frames} frames …`);
  await using rig = await Rig.create();
  const [model, picture] = [join(rig.dir, "random.tflite"), join(rig.dir, "frame.jpg")];
  await Deno.writeFile(model, detectorModel(SIDE));
  await Deno.writeFile(picture, frame());
  const config = {
    network: { bind_address: `127.0.0.1:${rig.serverPort}` },
    components: [{
      ...{ name: "cam", api: "rdk:component:camera", model: "rdk:builtin:image_file" },
      attributes: { color_image_file_path: picture },
    }],
    services: [
      {
        ...{ name: "net", api: "rdk:service:mlmodel", model: "rdk:builtin:tflite_cpu" },
        attributes: { model_path: model },
      },
      {
        ...{ name: "eyes", api: "rdk:service:vision", model: "rdk:builtin:mlmodel" },
        attributes: { mlmodel_name: "net", camera_name: "cam", default_minimum_confidence: 0.99 },
      },
    ],
  };
  const file = join(rig.dir, "vision.json");
  await Deno.writeTextFile(file, JSON.stringify(config));
  const server = rig.spawn("machine-server", ["-config", file]);
  await server.waitForLine(READY_LINE, 90_000);
  const call = async (method: string, request: object) => {
    const response = await fetch(`http://127.0.0.1:${rig.serverPort}/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
  };
  const detect = () =>
    call("viam.service.vision.v1.VisionService/GetDetectionsFromCamera", { name: "eyes" });
  await eventually("the model answers", async () => (await detect(), true));
  await detect();
  const samples: number[] = [];
  const waits: number[] = [];
  const used = async () => {
    const pids = [server.pid, ...await descendants(server.pid)];
    return (await Promise.all(pids.map(processorMs))).reduce((sum, one) => sum + one, 0);
  };
  const usedMs = await used();
  const started = performance.now();
  let left = frames;
  const work = async () => {
    while (left-- > 0) {
      const start = performance.now();
      await detect();
      samples.push(performance.now() - start);
    }
  };
  let isDone = false;
  const others = (async () => {
    while (!isDone) {
      const start = performance.now();
      await call("viam.robot.v1.RobotService/GetVersion", {});
      waits.push(performance.now() - start);
      await new Promise((done) => setTimeout(done, 10));
    }
  })();
  await Promise.all([work(), work()]);
  const seconds = (performance.now() - started) / 1_000;
  const frameMs = (await used() - usedMs) / frames;
  isDone = true;
  await others;
  reporter.report("detections_300_rate", frames / seconds, "frames/s");
  reporter.report("detections_300_p50", percentile(samples, 0.5), "ms");
  reporter.report("detections_300_processor", frameMs, "ms/frame");
  reporter.report("call_beside_detections_p99", percentile(waits, 0.99), "ms");
}

function frame(): Uint8Array {
  const { width, height } = FRAME;
  const data = new Uint8Array(width * height * 4);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    data.set([x & 255, y & 255, (x * y) & 255, 255], pixel * 4);
  }
  return new Uint8Array(jpeg.encode({ width, height, data }, 85).data);
}
