import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { createHash } from "node:crypto";
import type { Program } from "../e2e/program.ts";
import { READY_LINE, type Rig } from "../e2e/rig.ts";

/** Size of the image that the camera gives, in bytes. */
export const IMAGE_BYTES = 3_000_000;

/** A machine that lets everybody in, and logs all it does. */
export interface WebrtcMachine {
  server: Program;
  /** Its configuration. */
  file: string;
  /** Of the camera's image, in hexadecimal digits. */
  imageSha256: string;
}

/** Starts a server without a cloud that has {@link webrtcComponents}. */
export async function startWebrtcMachine(rig: Rig): Promise<WebrtcMachine> {
  const file = join(rig.dir, "webrtc.json");
  const network = { bind_address: `127.0.0.1:${rig.serverPort}` };
  await Deno.writeTextFile(file, JSON.stringify({ ...await webrtcComponents(rig), network }));
  const server = rig.spawn("machine-server", ["-config", file, "-debug"]);
  await server.waitForLine(READY_LINE, 90_000);
  const picture = await Deno.readFile(imagePath(rig));
  return { server, file, imageSha256: createHash("sha256").update(picture).digest("hex") };
}

/** What the tours of `webrtc_tour.py` and `webrtc_tour.mjs` use. Writes the camera's image. */
export async function webrtcComponents(rig: Rig): Promise<{ components: JsonObject[] }> {
  const picture = imagePath(rig);
  await Deno.writeFile(picture, largePng());
  const fake = (name: string, attributes: JsonObject = {}) => ({
    name,
    api: `rdk:component:${name}`,
    model: "rdk:builtin:fake",
    attributes,
  });
  return {
    components: [
      fake("sensor", { readings: { a: 1, text: "hello" } }),
      fake("generic"),
      fake("audio_in"),
      fake("motor", { max_rpm: 6_000 }),
      {
        name: "camera",
        api: "rdk:component:camera",
        model: "rdk:builtin:image_file",
        attributes: { color_image_file_path: picture },
      },
    ],
  };
}

function imagePath(rig: Rig): string {
  return join(rig.dir, "picture.png");
}

/** The beginning of a PNG of 1 by 1 pixel, and then what no compression makes smaller. */
function largePng(): Uint8Array {
  const bytes = new Uint8Array(IMAGE_BYTES);
  for (let at = 0; at < bytes.length; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  }
  bytes.set([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  bytes.set([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0], 16);
  return bytes;
}
