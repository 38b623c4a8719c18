import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { linuxBoardModel } from "../board/board_model.ts";
import { EmulatedKernel } from "../kernel/emulated_kernel.ts";
import { construct, testEnvironment } from "../testing.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";
import type { BoardEncoder } from "./board_encoder.ts";
import { incrementalEncoderModel, singleEncoderModel } from "./encoder_models.ts";

async function setUp() {
  const kernel = new EmulatedKernel({ clock: new FakeClock(), lines: 8 });
  const board = await construct<Resource, unknown>(
    linuxBoardModel(testEnvironment({ kernel: () => kernel })),
    { digital_interrupts: [{ name: "a", pin: "1" }, { name: "b", pin: "2" }] },
  );
  return { kernel, board, dependencies: new Map([["rdk:component:board/board", board]]) };
}

const ticks = (encoder: BoardEncoder) => encoder.getPosition({}).value;

Deno.test("incremental encoder counts two ticks a cycle, both ways", async () => {
  const { kernel, board, dependencies } = await setUp();
  const encoder = await construct<BoardEncoder, unknown>(
    incrementalEncoderModel({ clock: systemClock }),
    { board: "board", pins: { a: "a", b: "b" } },
    { dependencies },
  );
  const forward = [[1, true], [2, true], [1, false], [2, false]] as const;
  for (let cycle = 0; cycle < 3; cycle++) {
    for (const [pin, level] of forward) kernel.drive(pin, level);
  }
  await waitFor(() => ticks(encoder) === 6, { deadlineMs: 60_000 });
  for (const [pin, level] of [[2, true], [1, true], [2, false], [1, false]] as const) {
    kernel.drive(pin, level);
  }
  await waitFor(() => ticks(encoder) === 4, { deadlineMs: 60_000 });
  encoder.resetPosition();
  assert.equal(ticks(encoder), 0);
  assert.throws(() => encoder.getPosition({ positionType: 2 }), /does not know an angle/);
  await encoder.close();
  await board.close!();
});

Deno.test("single encoder counts in the direction that the motor says", async () => {
  const { kernel, board, dependencies } = await setUp();
  const encoder = await construct<BoardEncoder, unknown>(
    singleEncoderModel({ clock: systemClock }),
    { board: "board", pins: { i: "a" } },
    { dependencies },
  );
  for (const level of [true, false, true]) kernel.drive(1, level);
  await waitFor(() => ticks(encoder) === 3, { deadlineMs: 60_000 });
  encoder.setDirection(-1);
  kernel.drive(1, false);
  await waitFor(() => ticks(encoder) === 2, { deadlineMs: 60_000 });
  await encoder.close();
  await board.close!();
});

Deno.test("an encoder on an interrupt that is not there says so", async () => {
  const { board, dependencies } = await setUp();
  const clock = new FakeClock();
  const encoder = await construct<BoardEncoder, unknown>(
    singleEncoderModel({ clock }),
    { board: "board", pins: { i: "z" } },
    { dependencies },
  );
  await waitFor(() => encoder.getStatus().error, { deadlineMs: 60_000 });
  assert.throws(() => encoder.getPosition({}), /no digital interrupt z; the board has a, b/);
  assert.equal(clock.pendingTimers, 1, "it asks again after a while");
  await encoder.close();
  assert.equal(clock.pendingTimers, 0);
  await board.close!();
});

Deno.test("an encoder whose board fails again and again after a while says so once", async () => {
  const clock = new FakeClock();
  let attempts = 0;
  const board = {
    // deno-lint-ignore require-yield -- it never gives an edge
    async *streamTicks(_request: unknown, { signal }: CallContext) {
      attempts++;
      await clock.sleep(2_000, signal);
      throw new ConnectError("the module crashed", Code.Unavailable);
    },
  };
  const log = memoryLogger();
  const encoder = await construct<BoardEncoder, unknown>(
    incrementalEncoderModel({ clock }),
    { board: "board", pins: { a: "a", b: "b" } },
    { dependencies: new Map([["rdk:component:board/board", board as Resource]]), log },
  );
  let wasTold = false;
  // The waits between are random.
  await waitFor(async () => {
    await clock.advance(500);
    wasTold ||= encoder.problem() !== undefined;
    return attempts > 5;
  }, { deadlineMs: 60_000 });
  assert.ok(wasTold);
  assert.equal(log.text().split("no edges").length - 1, 1);
  await encoder.close();
});

Deno.test("an encoder without edges says why, once, until its board gives them again", async () => {
  let failures = 3;
  const board = {
    async *streamTicks(_request: unknown, { signal }: CallContext) {
      if (failures-- > 0) throw new ConnectError("there is no digital interrupt b", Code.NotFound);
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      yield { pinName: "a", high: true };
    },
  };
  const log = memoryLogger();
  const encoder = await construct<BoardEncoder, unknown>(
    incrementalEncoderModel({ clock: systemClock }),
    { board: "board", pins: { a: "a", b: "b" } },
    { dependencies: new Map([["rdk:component:board/board", board as Resource]]), log },
  );
  const problem = "board board: there is no digital interrupt b";
  await waitFor(() => failures < 2 && encoder.problem() === problem, { deadlineMs: 60_000 });
  await waitFor(() => failures < 0 && encoder.problem() === undefined, { deadlineMs: 60_000 });
  assert.equal(ticks(encoder), 0);
  assert.equal(log.text().split("no edges").length - 1, 1);
  await encoder.close();
});
