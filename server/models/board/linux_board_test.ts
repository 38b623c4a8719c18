import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { EmulatedKernel } from "../kernel/emulated_kernel.ts";
import { isKernelError } from "../kernel/kernel.ts";
import { libcKernel } from "../kernel/libc_kernel.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import { linuxBoardModel } from "./board_model.ts";
import type { LinuxBoard } from "./linux_board.ts";

const PWM = "/sys/class/pwm/pwmchip0";
const IIO = "/sys/bus/iio/devices/iio:device0";

function setUp(files: Record<string, string> = {}) {
  const kernel = new EmulatedKernel({ clock: new FakeClock(), lines: 32, files });
  const model = linuxBoardModel(testEnvironment({ kernel: () => kernel }));
  return { kernel, board: (attributes = {}) => construct<LinuxBoard, unknown>(model, attributes) };
}

function hasError(code: Code, text: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof ConnectError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.rawMessage, text);
    return true;
  };
}

Deno.test("setGPIO() sets the level of a line, getGPIO() gives it back", async () => {
  const { kernel, board } = setUp();
  const it = await board({ pins: [{ name: "lamp", line_number: 7 }] });
  await it.setGPIO({ pin: "lamp", high: true });
  assert.equal(kernel.duty(7), 1);
  assert.deepEqual(it.getGPIO({ pin: "lamp" }), { high: true });
  kernel.drive(9, true);
  assert.deepEqual(it.getGPIO({ pin: "gpiochip0:9" }), { high: true });
  await it.close();
});

Deno.test("setPWM() pulses a line, and close() leaves it low", async () => {
  const { kernel, board } = setUp();
  const it = await board();
  await it.setPWMFrequency({ pin: "4", frequencyHz: 500n });
  await it.setPWM({ pin: "4", dutyCyclePct: 0.25 });
  assert.equal(kernel.duty(4), 0.25);
  assert.deepEqual(it.pWM({ pin: "4" }), { dutyCyclePct: 0.25 });
  assert.deepEqual(it.pWMFrequency({ pin: "4" }), { frequencyHz: 500n });
  await it.setPWM({ pin: "4", dutyCyclePct: 1 });
  assert.equal(kernel.duty(4), 1);
  await it.setPWM({ pin: "4", dutyCyclePct: 0.5 });
  await it.close();
  assert.equal(kernel.duty(4), 0);
  await assert.rejects(
    it.setPWMFrequency({ pin: "4", frequencyHz: 50_000n }),
    hasError(Code.InvalidArgument, /software PWM does at most 2000 Hz/),
  );
});

Deno.test("setPWM() writes to /sys where the pin has hardware PWM", async () => {
  const files = Object.fromEntries(
    ["export", "pwm1/period", "pwm1/duty_cycle", "pwm1/enable"].map((f) => [`${PWM}/${f}`, "0"]),
  );
  const { kernel, board } = setUp(files);
  const it = await board({ pins: [{ name: "fan", pwm_chip_sysfs_dir: PWM, pwm_id: 1 }] });
  await it.setPWMFrequency({ pin: "fan", frequencyHz: 25_000n });
  await it.setPWM({ pin: "fan", dutyCyclePct: 0.5 });
  const read = (file: string) => kernel.files.get(`${PWM}/pwm1/${file}`);
  assert.deepEqual(["period", "duty_cycle", "enable"].map(read), ["40000", "20000", "1"]);
  await it.close();
  assert.deepEqual(["duty_cycle", "enable"].map(read), ["0", "0"]);
});

Deno.test("streamTicks() gives every edge with the kernel's time, and rising ones count", async () => {
  const { kernel, board } = setUp();
  const it = await board({ digital_interrupts: [{ name: "wheel", pin: "5" }] });
  const ending = new AbortController();
  const ticks = it.streamTicks({ pinNames: ["wheel"] }, testCall(ending.signal));
  kernel.drive(5, true, 1_000n);
  kernel.drive(5, false, 2_000n);
  kernel.drive(5, true, 3_500n);
  const seen = [];
  for await (const tick of ticks) {
    seen.push(tick);
    if (seen.length === 3) ending.abort();
  }
  assert.deepEqual(seen, [
    { pinName: "wheel", time: 1_000n, high: true },
    { pinName: "wheel", time: 2_000n, high: false },
    { pinName: "wheel", time: 3_500n, high: true },
  ]);
  assert.deepEqual(it.getDigitalInterruptValue({ digitalInterruptName: "wheel" }), { value: 2n });
  for (let edge = 0; edge < 3_000; edge++) kernel.drive(5, edge % 2 === 1);
  assert.equal((it.getStatus() as Record<string, unknown>)["lost_edges"], 3_000 - 1_024);
  await it.close();
});

Deno.test("construct() fails with what to do when a line is in use or a chip is missing", async () => {
  const { kernel, board } = setUp();
  kernel.take(5, "spi0 CS0");
  await assert.rejects(
    board({ digital_interrupts: [{ name: "wheel", pin: "5" }] }),
    hasError(Code.FailedPrecondition, /line 5 of \/dev\/gpiochip0 is in use by spi0 CS0; end/),
  );
  await assert.rejects(
    board({ chip: "/dev/gpiochip3" }),
    hasError(Code.NotFound, /no GPIO chip \/dev\/gpiochip3; this host has gpiochip0/),
  );
  const it = await board();
  assert.throws(() => it.getGPIO({ pin: "99" }), hasError(Code.NotFound, /has lines 0 to 31/));
  await assert.rejects(
    it.setGPIO({ pin: "5", high: true }),
    hasError(Code.FailedPrecondition, /in use/),
  );
  await assert.rejects(
    board({ pins: [{ name: "x", pwm_chip_sysfs_dir: "/sys/../etc" }] }),
    /folder of \/sys/,
  );
  await it.close();
});

Deno.test("readAnalogReader() reads industrial I/O with its scale", async () => {
  const { board } = setUp({
    [`${IIO}/in_voltage2_raw`]: "1200",
    [`${IIO}/in_voltage_scale`]: "0.5",
  });
  const it = await board({ analogs: [{ name: "battery", pin: "2" }, { name: "none", pin: "3" }] });
  const { value, stepSize } = it.readAnalogReader({ analogReaderName: "battery" });
  assert.deepEqual([value, stepSize], [1_200, 0.0005]);
  assert.throws(
    () => it.readAnalogReader({ analogReaderName: "none" }),
    hasError(Code.NotFound, /in_voltage3_raw; this host has iio:device0/),
  );
  await it.close();
});

Deno.test("doCommand() says what is wrong with a bus command", async () => {
  const it = await setUp().board();
  const run = (command: Parameters<LinuxBoard["doCommand"]>[0]) => () => it.doCommand(command);
  assert.throws(run({ i2c: { bus: 1, address: 400 } }), /i2c.address: found 400/);
  assert.throws(run({ i2c: { bus: 9, address: 4, read: 1 } }), /no I2C bus \/dev\/i2c-9/);
  assert.throws(run({ spi: { bus: 9, chip_select: 0, write: [1] } }), /no SPI device/);
  assert.throws(run({}), /knows the commands/);
  await it.close();
});

Deno.test({
  name: "libcKernel() opens, reads, waits and reports errors of this host",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const kernel = libcKernel();
    assert.throws(() => kernel.open("/dev/none", 0), (error) => isKernelError(error, "ENOENT"));
    const event = kernel.eventfd();
    const bytes = new Uint8Array(8);
    assert.equal(kernel.read(event, bytes), undefined);
    assert.deepEqual(await kernel.poll([event], 0), []);
    const waiting = kernel.poll([event], 60_000);
    kernel.write(event, new Uint8Array([3, 0, 0, 0, 0, 0, 0, 0]));
    assert.deepEqual(await waiting, [event]);
    assert.equal(kernel.read(event, bytes), 8);
    assert.equal(bytes[0], 3);
    kernel.close(event);
    assert.throws(() => kernel.ioctl(event, 1, bytes), (error) => isKernelError(error, "EBADF"));
  },
});
