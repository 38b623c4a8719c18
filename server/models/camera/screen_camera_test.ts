import assert from "node:assert/strict";
import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type CameraService,
  GetImagesRequestSchema,
} from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { readImageHeader } from "./image_header.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import type { ScreenAttributes } from "./live_attributes.ts";
import { screenModel } from "./live_models.ts";
import { screenArguments } from "./screen_camera.ts";

const request = create(GetImagesRequestSchema, {});

Deno.test("screenArguments() takes a part of a screen, and says when there is none", () => {
  const all = { display: ":0", x_px: undefined, y_px: undefined, width_px: undefined };
  const rest = { height_px: undefined, frame_rate: undefined };
  assert.equal(
    screenArguments({ ...all, ...rest }).input.join(" "),
    "-f x11grab -framerate 5 -i :0.0+0,0",
  );
  const part = { display: "host:1.2", x_px: 10, y_px: 20, width_px: 640, height_px: 480 };
  assert.equal(
    screenArguments({ ...part, frame_rate: 2 }).input.join(" "),
    "-f x11grab -framerate 2 -video_size 640x480 -i host:1.2+10,20",
  );
  assert.throws(() => screenArguments({ ...all, ...rest, display: undefined }), /no screen: name/);
});

Deno.test({
  name: "screenModel() says that a display is not there",
  ignore: ignoreWithout(import.meta.url, "ffmpeg") || Deno.build.os !== "linux",
  async fn() {
    const model = screenModel(testEnvironment({ variables: () => ({ DISPLAY: ":4711" }) }));
    await assert.rejects(construct(model, {}), /screen :4711: the screen cannot be opened/);
  },
});

Deno.test({
  name: "screenModel() gives images of a screen, and of a part of it",
  ignore: ignoreWithout(import.meta.url, "ffmpeg", "xvfb"),
  async fn() {
    await using screen = await startScreen("320x200x24");
    const size = async (attributes: JsonObject) => {
      const model = screenModel(testEnvironment({ variables: () => ({ DISPLAY: screen.name }) }));
      const camera = await construct<Driver<typeof CameraService>, ScreenAttributes>(
        ...[model, attributes] as const,
      );
      try {
        const { images } = await camera.getImages!(request, testCall());
        const { width, height } = readImageHeader(images![0]!.image!, "x");
        return [width, height];
      } finally {
        await camera.close!();
      }
    };
    assert.deepEqual(await size({}), [320, 200]);
    assert.deepEqual(await size({ x_px: 10, y_px: 20, width_px: 160, height_px: 90 }), [160, 90]);
    await assert.rejects(size({ x_px: 300, width_px: 160, height_px: 90 }), /screen :\d+/);
  },
});

/** An X server without a monitor, on a display that it chooses. */
async function startScreen(size: string) {
  const child = new Deno.Command("Xvfb", {
    args: ["-displayfd", "1", "-screen", "0", size, "-nolisten", "tcp"],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let said = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    said += text;
    if (said.endsWith("\n")) break;
  }
  assert.match(said, /^\d+\n$/, "Xvfb names its display");
  return {
    name: `:${said.trim()}`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
    },
  };
}
