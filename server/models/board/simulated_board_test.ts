import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { simulatedBoard } from "./simulated_board.ts";
import type { SimulatedMotor } from "./simulated_wiring.ts";

Deno.test("a simulated board refuses a motor on a pin that it has not", () => {
  const motor = { name: "left", pwm: 1, encoder_b: 64 } as SimulatedMotor;
  const attributes = { lines: undefined, digital_interrupts: undefined, motors: [motor] };
  assert.throws(
    () => simulatedBoard(new FakeClock(), attributes, memoryLogger("test")),
    /motors\[0\]\.encoder_b is 64, and the board has the pins 0 to 63; choose one of them/,
  );
});
