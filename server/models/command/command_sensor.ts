import type { ProcessRunner } from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { AttributeError } from "../../resources/graph/attributes.ts";
import type { Readings, Sensor } from "../../resources/graph/resource.ts";
import { jsonReadings } from "../readings/json_readings.ts";
import { Polled } from "../readings/polled.ts";
import type { CommandAttributes } from "./command_attributes.ts";
import { runProgram } from "./run_program.ts";

const DEFAULT_TIMEOUT_MS = 10_000;

/** What the sensor needs from outside. */
export interface CommandEnvironment {
  readonly clock: Clock;
  readonly processes: ProcessRunner;
  readonly variables: () => Readonly<Record<string, string>>;
}

/** @throws {AttributeError} for a pattern that cannot be used. */
export async function createCommandSensor(
  attributes: CommandAttributes,
  { clock, processes, variables }: CommandEnvironment,
): Promise<Sensor> {
  const { program, args = [], cwd, env } = attributes;
  const readingsOf = await reader(attributes);
  const polled = new Polled({
    clock,
    intervalMs: attributes.min_interval ?? 0,
    ask: async (signal) => {
      const output = await runProgram({
        command: {
          program,
          args,
          ...(cwd !== undefined && { cwd }),
          env: { ...variables(), ...env },
        },
        timeoutMs: attributes.timeout ?? DEFAULT_TIMEOUT_MS,
        processes,
        clock,
        signal,
      });
      return readingsOf(output);
    },
  });
  return {
    getReadings: (_extra, { signal }) => polled.read(signal),
    close: () => polled.close(),
  };
}

async function reader(
  { program, path, pattern }: CommandAttributes,
): Promise<(output: string) => Readings> {
  const what = `the output of ${program}`;
  if (pattern === undefined) return (output) => jsonReadings(output, path, what);
  if (path) {
    throw new AttributeError("attributes.path", `"${path.text}" next to pattern`, "one of the two");
  }
  // The engine takes memory that only sensors with a pattern need.
  const { patternReader } = await import("./pattern_reader.ts");
  return patternReader(pattern, what);
}
