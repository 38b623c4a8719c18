import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { EmulatedKernel } from "../kernel/emulated_kernel.ts";
import { Poller } from "../kernel/poller.ts";
import { LinuxBoard } from "./linux_board.ts";
import type { SimulatedBoardAttributes } from "./board_attributes.ts";
import { type SimulatedMotor, SimulatedWiring } from "./simulated_wiring.ts";

/** See {@link simulatedBoardModel}. */
export function simulatedBoard(
  clock: Clock,
  { lines = 64, digital_interrupts, motors = [] }: SimulatedBoardAttributes,
  log: Logger,
): LinuxBoard {
  requirePins(motors, lines);
  const kernel = new EmulatedKernel({ clock, lines });
  const wiring = new SimulatedWiring(kernel, clock, motors);
  try {
    return new SimulatedBoard(wiring, {
      kernel,
      poller: new Poller(kernel),
      attributes: { digital_interrupts, chip: undefined, pins: undefined, analogs: undefined },
      log,
    });
  } catch (error) {
    wiring.close();
    throw error;
  }
}

const PINS = ["pwm", "dir", "a", "b", "encoder_a", "encoder_b"] as const;

function requirePins(motors: readonly SimulatedMotor[], lines: number): void {
  for (const [index, motor] of motors.entries()) {
    for (const pin of PINS) {
      const line = motor[pin] ?? 0;
      if (line < lines) continue;
      throw new Error(
        `motors[${index}].${pin} is ${line}, and the board has the pins 0 to ${lines - 1}; ` +
          "choose one of them, or set lines to a larger number",
      );
    }
  }
}

class SimulatedBoard extends LinuxBoard {
  constructor(
    private readonly wiring: SimulatedWiring,
    options: ConstructorParameters<typeof LinuxBoard>[0],
  ) {
    super(options);
  }

  /** `{"jam": "left", "on": true}`: that motor does not turn, whatever its power. */
  override doCommand(command: JsonObject): JsonObject {
    const { jam, on = true } = command;
    if (typeof jam === "string" && this.wiring.names.includes(jam)) {
      this.wiring.jam(jam, on === true);
      return { jammed: on === true };
    }
    throw new ConnectError(
      `this board knows {"jam": NAME, "on": true or false}; its motors are ` +
        (this.wiring.names.join(", ") || "none"),
      Code.InvalidArgument,
    );
  }

  override getStatus() {
    return { ...super.getStatus(), motors: this.wiring.status() };
  }

  override async close(): Promise<void> {
    this.wiring.close();
    await super.close();
  }
}
