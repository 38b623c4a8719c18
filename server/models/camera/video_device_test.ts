import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import type { FfmpegRun } from "../../resources/video/ffmpeg_program.ts";
import { jpegBytes } from "./testing.ts";
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
  /** Names of errors: of opening it, of listing sizes, of the control of that id. */
  readonly errors: { open?: string; sizes?: string; controls: Record<number, string> } = {
    controls: {},
  };

  override open(path: string): number {
    if (this.errors.open !== undefined) throw kernelError(`open ${path}`, this.errors.open);
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
        if (this.errors.sizes !== undefined) throw kernelError("ioctl", this.errors.sizes);
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
        if (this.errors.controls[next.id]) {
          throw kernelError("ioctl", this.errors.controls[next.id]!);
        }
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

const { signal } = new AbortController();

function device() {
  const clock = new FakeClock();
  const kernel = new CameraKernel({ clock, lines: 1 });
  const hanging = new Set<string>();
  const another = () => new VideoDevice(() => kernel, "/dev/video0", clock, hanging);
  const camera = another();
  const run = (command: JsonObject) => camera.run(command, signal);
  return { clock, kernel, camera, run, another };
}

Deno.test("a webcam lists its formats with sizes and rates", async () => {
  const { kernel, run } = device();
  const jpeg = { format: "MJPG", description: "Motion-JPEG" };
  assert.deepEqual(await run({ formats: true }), {
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

Deno.test("a webcam lists its controls and sets them, switches first", async () => {
  const { kernel, run } = device();
  const { controls } = await run({ controls: true }) as {
    controls: Record<string, JsonObject>;
  };
  assert.deepEqual(controls["brightness"], {
    ...{ kind: "integer", value: 0, default: 0, minimum: -64, maximum: 64, step: 1 },
  });
  assert.deepEqual(controls["auto_exposure"], {
    ...{ kind: "menu", value: 3, default: 3 },
    menu: { "1": "Manual Mode", "3": "Aperture Priority Mode" },
  });
  assert.equal(controls["white_balance_automatic"]?.["kind"], "boolean");
  await run({
    set_controls: { exposure_time_absolute: 100, brightness: -5, auto_exposure: 1 },
  });
  assert.deepEqual(kernel.writes, [
    "Auto Exposure=1",
    "Exposure Time, Absolute=100",
    "Brightness=-5",
  ]);
  assert.equal(kernel.stillOpen, 0);
});

Deno.test("a webcam refuses controls and commands that it does not have, and says which it has", async () => {
  const { kernel, run } = device();
  for (
    const [command, like] of [
      [{ set_controls: { zoom: 1 } }, /set_controls: found zoom, allowed: .*brightness, white_/],
      [{ set_controls: { brightness: 65 } }, /brightness: found 65, allowed: .*from -64 to 64/],
      [{ set_controls: { brightness: "x" } }, /brightness: found "x", allowed: a number, true or/],
      [{ set_controls: { brightness: null } }, /brightness: found null, allowed: a number, true/],
      [{ set_controls: { auto_exposure: 2 } }, /found 2, allowed: 1 \(Manual Mode\), 3 \(/],
      [{ dance: true }, /"formats": true.*"controls": true.*"set_controls"/],
    ] as const
  ) {
    await assert.rejects(run(command), (error) => {
      assert.match(String(error), like);
      return ConnectError.from(error).code === Code.InvalidArgument;
    });
  }
  assert.deepEqual(kernel.writes, []);
  assert.equal(kernel.stillOpen, 0);
});

Deno.test("a webcam lists formats whose driver lists no sizes", async () => {
  const { kernel, run } = device();
  kernel.errors.sizes = "ENOTTY";
  assert.deepEqual(await run({ formats: true }), {
    formats: [
      { format: "MJPG", description: "Motion-JPEG", frame_rates: [] },
      { format: "YUYV", description: "YUYV 4:2:2", frame_rates: [] },
    ],
  });
});

Deno.test("a webcam lists the controls before one that is broken", async () => {
  const { kernel, run } = device();
  kernel.errors.controls[0x9a0901] = "EIO";
  const { controls, problem } = await run({ controls: true }) as {
    controls: JsonObject;
    problem: string;
  };
  assert.deepEqual(Object.keys(controls), ["brightness", "white_balance_automatic"]);
  assert.match(problem, /a control is broken \(ioctl: EIO\)/);
  await assert.rejects(
    run({ set_controls: { exposure_time_absolute: 100 } }),
    /^Error: set_controls\.exposure_time_absolute: a control is broken \(ioctl: EIO\)/,
  );
});

Deno.test("a webcam that cannot be opened says what to do", async () => {
  for (
    const [error, like] of [
      ["EACCES", /add it to the group video \(open \/dev\/video0: EACCES\)/],
      ["EPERM", /add it to the group video/],
      ["ENOENT", /not there; plug it in/],
      ["ENODEV", /not there; plug it in/],
      ["ENXIO", /not there; plug it in/],
    ] as const
  ) {
    const { kernel, run } = device();
    kernel.errors.open = error;
    await assert.rejects(run({ controls: true }), like);
  }
});

/** Its calls hang until it `answers`. */
function hangingDevice() {
  const rig = device();
  const { kernel } = rig;
  const hangs = Promise.withResolvers<void>();
  const seen = { opened: 0, closed: 0 };
  const slowFile = kernel.slowFile.bind(kernel);
  kernel.slowFile = (path, flags) => {
    const file = slowFile(path, flags);
    seen.opened++;
    return {
      ioctl: async (request, argument) => {
        await hangs.promise;
        return await file.ioctl(request, argument);
      },
      close: async () => {
        await hangs.promise;
        await file.close();
        seen.closed++;
      },
    };
  };
  return { ...rig, seen, answers: hangs.resolve };
}

Deno.test("a webcam that hangs is left after 10 s, and not asked again until its call is over", async () => {
  const { clock, run, another, seen, answers } = hangingDevice();
  const listing = assert.rejects(run({ controls: true }), /video0 hangs: .*longer than 10 s/);
  await clock.advance(10_000);
  await listing;
  // One that is built again is another device on the same path.
  for (const ask of [run, (command: JsonObject) => another().run(command, signal)]) {
    await assert.rejects(ask({ formats: true }), /video0 still hangs; plug it out and in again/);
  }
  assert.deepEqual(seen, { opened: 1, closed: 0 });
  answers();
  await waitFor(() => seen.closed === 1, { deadlineMs: 60_000 });
  assert.ok("controls" in await run({ controls: true }));
});

Deno.test("who asks a webcam waits no longer than their call, also behind others", async () => {
  const { clock, camera, run, seen } = hangingDevice();
  const first = assert.rejects(run({ controls: true }), /hangs/);
  for (const command of [{ formats: true }, { set_controls: { brightness: 1 } }]) {
    const call = new AbortController();
    const asked = assert.rejects(camera.run(command, call.signal), /the deadline is over/);
    call.abort(new Error("the deadline is over"));
    await asked;
  }
  await clock.advance(10_000);
  await first;
  assert.equal(seen.opened, 1);
});

/** A device file, and an ffmpeg that gives one frame of it while it is there. */
class Plugged implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly kernel = new CameraKernel({ clock: this.clock, lines: 1 });
  readonly log = memoryLogger();
  starts = 0;
  isThere = true;
  #kill = () => {};
  readonly #folder = Deno.makeTempDirSync();

  async build(controls: Record<string, number>) {
    const path = `${this.#folder}/video0`;
    await Deno.writeTextFile(path, "");
    return await createWebcam({
      ...{ video_path: path, width_px: undefined, height_px: undefined, frame_rate: undefined },
      ...{ format: undefined, controls },
    }, {
      ...{ clock: this.clock, log: this.log, signal: new AbortController().signal },
      ...{ start: () => this.#start(), kernel: () => this.kernel, hanging: new Set<string>() },
    });
  }

  unplug(): void {
    this.isThere = false;
    this.kernel.errors.open = "ENODEV";
    this.#kill();
  }

  plugIn(): void {
    this.isThere = true;
    delete this.kernel.errors.open;
  }

  #start(): FfmpegRun {
    this.starts++;
    const killed = Promise.withResolvers<void>();
    this.#kill = killed.resolve;
    if (!this.isThere) killed.resolve();
    const image = jpegBytes(4, 2);
    const head = `--ffmpeg\r\nContent-length: ${image.length}\r\n\r\n`;
    const bytes = new Uint8Array([...new TextEncoder().encode(head), ...image, 13, 10]);
    const output = async function* (isThere: boolean) {
      if (isThere) yield bytes;
      await killed.promise;
    };
    return {
      output: output(this.isThere),
      ended: killed.promise.then(() => ({ ok: false, reason: "it was ended", said: "" })),
      write: () => Promise.resolve(),
      kill: killed.resolve,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#folder, { recursive: true });
  }
}

Deno.test("createWebcam() sets the controls of its attributes, and refuses wrong ones", async () => {
  await using rig = new Plugged();
  await assert.rejects(rig.build({ zoom: 1 }), /^AttributeError: attributes\.controls: found zoom/);
  const camera = await rig.build({ brightness: 10 });
  assert.deepEqual(rig.kernel.writes, ["Brightness=10"]);
  const { controls } = await camera.doCommand!({ controls: true }, testCall()) as {
    controls: Record<string, JsonObject>;
  };
  assert.equal(controls["brightness"]?.["value"], 10);
  await camera.close!();
});

Deno.test("a webcam that stays unplugged is logged once, and gets its controls when it is back", async () => {
  await using rig = new Plugged();
  const camera = await rig.build({ brightness: 10 });
  const until = (condition: () => boolean) =>
    waitFor(async () => {
      await rig.clock.advance(500);
      return condition();
    }, { deadlineMs: 90_000 });
  const unset = () => rig.log.messages("warn").filter((message) => /^controls/.test(message));
  rig.unplug();
  await until(() => rig.starts >= 6 && unset().length > 0);
  assert.equal(unset().length, 1);
  assert.match(unset()[0]!, /not set: the camera is not there; plug it in.*ENODEV/);
  rig.plugIn();
  await until(() => rig.kernel.writes.length === 2);
  await camera.close!();
});

Deno.test("a webcam that is closed sets no controls any more", async () => {
  await using rig = new Plugged();
  const camera = await rig.build({ brightness: 10 });
  const { kernel } = rig;
  let isAsked = false;
  const answer = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const slowFile = kernel.slowFile.bind(kernel);
  kernel.slowFile = (path, flags) => {
    const file = slowFile(path, flags);
    return {
      async ioctl(request, argument) {
        isAsked = true;
        await answer.promise;
        return await file.ioctl(request, argument);
      },
      close: () => file.close().finally(closed.resolve),
    };
  };
  rig.unplug();
  rig.plugIn();
  await waitFor(async () => {
    await rig.clock.advance(500);
    return isAsked;
  }, { deadlineMs: 90_000 });
  await camera.close!();
  answer.resolve();
  await closed.promise;
  assert.deepEqual(kernel.writes, ["Brightness=10"]);
  assert.deepEqual(rig.log.messages("warn").filter((message) => /^controls/.test(message)), []);
});
