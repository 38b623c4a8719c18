import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { EmulatedKernel } from "../kernel/emulated_kernel.ts";
import { kernelError } from "../kernel/kernel.ts";
import { construct, testEnvironment } from "../testing.ts";
import type { Gamepad } from "./gamepad.ts";
import { gamepadModel } from "./input_models.ts";

const DEADLINE = { deadlineMs: 60_000 };

/** A kernel with a gamepad that can be plugged in and out; its file is one of events. */
class PadKernel extends EmulatedKernel {
  plugged = false;
  pad: number | undefined;
  pending: Uint8Array[] = [];

  override list(folder: string): string[] {
    return folder === "/dev/input" ? ["event0", "mice"] : super.list(folder);
  }

  override open(path: string): number {
    if (path !== "/dev/input/event0" || !this.plugged) throw kernelError(`open ${path}`, "ENOENT");
    return this.pad = this.eventfd();
  }

  override ioctl(_fd: number, request: number, argument: Uint8Array<ArrayBuffer>): number {
    const view = new DataView(argument.buffer);
    if (request === 0x80604521) argument[0x130 >> 3] = 1 << (0x130 & 7);
    else if (request === 0x80184540) {
      view.setInt32(4, -100, true);
      view.setInt32(8, 100, true);
    } else throw kernelError("ioctl", "EINVAL");
    return 0;
  }

  override read(fd: number, into: Uint8Array): number | undefined {
    if (fd !== this.pad) return super.read(fd, into);
    super.read(fd, new Uint8Array(8));
    if (!this.plugged) throw kernelError("read", "ENODEV");
    const next = this.pending.shift();
    if (next) into.set(next);
    return next?.length;
  }

  /** struct input_event: time, type, code, value. */
  send(type: number, code: number, value: number): void {
    const view = new DataView(new ArrayBuffer(24));
    view.setUint16(16, type, true);
    view.setUint16(18, code, true);
    view.setInt32(20, value, true);
    this.pending.push(new Uint8Array(view.buffer));
    this.write(this.pad!, new Uint8Array(8));
  }
}

Deno.test("gamepad reports its controls, and rests when it is unplugged", async () => {
  const clock = new FakeClock();
  const kernel = new PadKernel({ clock, lines: 1 });
  const pad = await construct<Gamepad, unknown>(
    gamepadModel(testEnvironment({ clock, kernel: () => kernel })),
  );
  assert.throws(() => pad.getEvents(), /no gamepad on this host; plug one in/);
  assert.match(pad.problem() ?? "", /no gamepad on this host; plug one in/);
  kernel.plugged = true;
  await clock.advance(2_000);
  await waitFor(() => pad.getEvents(), DEADLINE);
  const value = (control: string) =>
    pad.getEvents().events.find((event) => event.control === control)?.value;
  assert.equal(pad.problem(), undefined);
  kernel.send(3, 0, 50);
  await waitFor(() => value("AbsoluteX") === 0.5, DEADLINE);
  kernel.send(1, 0x130, 1);
  await waitFor(() => value("ButtonSouth") === 1, DEADLINE);
  kernel.plugged = false;
  kernel.send(0, 0, 0);
  await waitFor(() => "error" in pad.getStatus(), DEADLINE);
  const { error, values } = pad.getStatus() as { error: string; values: Record<string, number> };
  assert.match(error, /event0 was unplugged; plug it in again/);
  assert.equal(pad.problem(), error);
  assert.deepEqual([values["AbsoluteX"], values["ButtonSouth"]], [0, 0]);
  assert.throws(() => pad.triggerEvent(), /use the model webgamepad/);
  await pad.close();
});
