import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import type { FfmpegRun } from "../../resources/video/ffmpeg_program.ts";
import { jpegBytes } from "../images/testing.ts";
import { EmulatedKernel } from "../kernel/emulated_kernel.ts";
import { kernelError } from "../kernel/kernel.ts";
import { testCall } from "../testing.ts";
import { createWebcam } from "./live_camera.ts";
import { VideoDevice } from "./video_device.ts";

interface Control {
  readonly id: number;
  readonly type: number;
  readonly name: string;
  readonly range: readonly [number, number, number, number];
  readonly menu?: Readonly<Record<number, string>>;
  value: number;
}

/** What a camera of the kind uvcvideo answers: two sizes in one format, one in the other. */
class CameraKernel extends EmulatedKernel {
  readonly controls: Control[] = [
    { id: 0x980900, type: 1, name: "Brightness", range: [-64, 64, 1, 0], value: 0 },
    { id: 0x98090c, type: 2, name: "White Balance, Automatic", range: [0, 1, 1, 1], value: 1 },
    {
      ...{ id: 0x9a0901, type: 3, name: "Auto Exposure", range: [0, 3, 1, 3], value: 3 },
      menu: { 1: "Manual Mode", 3: "Aperture Priority Mode" },
    },
    {
      id: 0x9a0902,
      type: 1,
      name: "Exposure Time, Absolute",
      range: [3, 2047, 1, 250],
      value: 250,
    },
  ];
  readonly writes: string[] = [];
  stillOpen = 0;

  override open(path: string): number {
    if (!path.includes("video")) throw kernelError(`open ${path}`, "ENOENT");
    this.stillOpen++;
    return 1_000;
  }

  override close(): void {
    this.stillOpen--;
  }

  override ioctl(_fd: number, request: number, argument: Uint8Array<ArrayBuffer>): number {
    const view = new DataView(argument.buffer);
    const [first, second] = [view.getUint32(0, true), view.getUint32(4, true)];
    const put = (at: number, ...values: number[]) =>
      values.forEach((value, index) => view.setInt32(at + 4 * index, value, true));
    const write = (at: number, text: string) => argument.set(new TextEncoder().encode(text), at);
    const none = kernelError("ioctl", "EINVAL");
    switch (request) {
      case 0xc0405602: { // VIDIOC_ENUM_FMT
        const format = [["MJPG", "Motion-JPEG"], ["YUYV", "YUYV 4:2:2"]][first];
        if (!format || second !== 1) throw none;
        write(12, format[1]!);
        write(44, format[0]!);
        return 0;
      }
      case 0xc02c564a: { // VIDIOC_ENUM_FRAMESIZES
        const isJpeg = new TextDecoder().decode(argument.subarray(4, 8)) === "MJPG";
        const size = (isJpeg ? [[1_280, 720], [640, 480]] : [[640, 480]])[first];
        if (!size) throw none;
        put(8, 1, ...size);
        return 0;
      }
      case 0xc034564b: { // VIDIOC_ENUM_FRAMEINTERVALS
        const rate = (view.getUint32(8, true) === 1_280 ? [30] : [30, 15])[first];
        if (rate === undefined) throw none;
        put(16, 1, 1, rate);
        return 0;
      }
      case 0xc0445624: { // VIDIOC_QUERYCTRL
        const next = this.controls.find(({ id }) => id > (first & 0x7fff_ffff));
        if (!next || first < 0x8000_0000) throw none;
        put(0, next.id, next.type);
        write(8, next.name);
        put(40, ...next.range);
        return 0;
      }
      case 0xc02c5625: { // VIDIOC_QUERYMENU
        const text = this.controls.find(({ id }) => id === first)?.menu?.[second];
        if (text === undefined) throw none;
        write(8, text);
        return 0;
      }
      case 0xc008561b: // VIDIOC_G_CTRL
        put(4, this.controls.find(({ id }) => id === first)!.value);
        return 0;
      case 0xc008561c: { // VIDIOC_S_CTRL
        const control = this.controls.find(({ id }) => id === first)!;
        control.value = view.getInt32(4, true);
        this.writes.push(`${control.name}=${control.value}`);
        return 0;
      }
    }
    throw kernelError("ioctl", "ENOTTY");
  }
}

function device() {
  const kernel = new CameraKernel({ clock: new FakeClock(), lines: 1 });
  return { kernel, device: new VideoDevice(() => kernel, "/dev/video0") };
}

Deno.test("a webcam lists its formats with sizes and rates", () => {
  const { kernel, device: camera } = device();
  const jpeg = { format: "MJPG", description: "Motion-JPEG" };
  assert.deepEqual(camera.run({ formats: true }), {
    formats: [
      { ...jpeg, width_px: 1_280, height_px: 720, frame_rates: [30] },
      { ...jpeg, width_px: 640, height_px: 480, frame_rates: [30, 15] },
      {
        ...{ format: "YUYV", description: "YUYV 4:2:2" },
        ...{ width_px: 640, height_px: 480, frame_rates: [30, 15] },
      },
    ],
  });
  assert.equal(kernel.stillOpen, 0);
});

Deno.test("a webcam lists its controls and sets them, switches first", () => {
  const { kernel, device: camera } = device();
  const { controls } = camera.run({ controls: true }) as { controls: Record<string, JsonObject> };
  assert.deepEqual(controls["brightness"], {
    ...{ kind: "integer", value: 0, default: 0, minimum: -64, maximum: 64, step: 1 },
  });
  assert.deepEqual(controls["auto_exposure"], {
    ...{ kind: "menu", value: 3, default: 3 },
    menu: { "1": "Manual Mode", "3": "Aperture Priority Mode" },
  });
  assert.equal(controls["white_balance_automatic"]?.["kind"], "boolean");
  camera.run({ set_controls: { exposure_time_absolute: 100, brightness: -5, auto_exposure: 1 } });
  assert.deepEqual(kernel.writes, [
    "Auto Exposure=1",
    "Exposure Time, Absolute=100",
    "Brightness=-5",
  ]);
  assert.equal(kernel.stillOpen, 0);
});

Deno.test("a webcam refuses controls and commands that it does not have, and says which it has", () => {
  const { kernel, device: camera } = device();
  for (
    const [command, like] of [
      [{ set_controls: { zoom: 1 } }, /set_controls: found zoom, allowed: .*brightness, white_/],
      [{ set_controls: { brightness: 65 } }, /brightness: found 65, allowed: .*from -64 to 64/],
      [{ set_controls: { brightness: "x" } }, /brightness: found NaN/],
      [{ set_controls: { auto_exposure: 2 } }, /found 2, allowed: 1 \(Manual Mode\), 3 \(/],
      [{ dance: true }, /"formats": true.*"controls": true.*"set_controls"/],
    ] as const
  ) {
    assert.throws(() => camera.run(command), (error) => {
      assert.match(String(error), like);
      return ConnectError.from(error).code === Code.InvalidArgument;
    });
  }
  assert.deepEqual(kernel.writes, []);
  assert.equal(kernel.stillOpen, 0);
});

Deno.test("createWebcam() sets the controls of its attributes, and refuses wrong ones", async () => {
  const kernel = new CameraKernel({ clock: new FakeClock(), lines: 1 });
  const picture = jpegBytes(4, 2);
  const start = (): FfmpegRun => {
    const killed = Promise.withResolvers<void>();
    const head = `--ffmpeg\r\nContent-length: ${picture.length}\r\n\r\n`;
    async function* output() {
      yield new Uint8Array([...new TextEncoder().encode(head), ...picture, 13, 10]);
      await killed.promise;
    }
    return {
      output: output(),
      ended: killed.promise.then(() => ({ ok: false, reason: "it was ended", said: "" })),
      write: () => Promise.resolve(),
      kill: killed.resolve,
    };
  };
  const folder = await Deno.makeTempDir();
  const path = `${folder}/video0`;
  await Deno.writeTextFile(path, "");
  const build = (controls: Record<string, number>) =>
    createWebcam({
      ...{ video_path: path, width_px: undefined, height_px: undefined, frame_rate: undefined },
      ...{ format: undefined, controls },
    }, {
      ...{ clock: systemClock, log: memoryLogger(), signal: new AbortController().signal },
      ...{ start, kernel: () => kernel },
    });
  try {
    await assert.rejects(build({ zoom: 1 }), /^AttributeError: attributes\.controls: found zoom/);
    const camera = await build({ brightness: 10 });
    assert.deepEqual(kernel.writes, ["Brightness=10"]);
    const { controls } = await camera.doCommand!({ controls: true }, testCall()) as {
      controls: Record<string, JsonObject>;
    };
    assert.equal(controls["brightness"]?.["value"], 10);
    await camera.close!();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
