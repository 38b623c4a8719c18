import { systemClock } from "../../../shared/base/time/clock.ts";
import type { Terminal } from "../../../shared/commands/output/terminal.ts";
import { NO_TERMINAL } from "../../../shared/commands/output/terminal_testing.ts";
import { runCommandLine } from "../../../shared/commands/run/run_command.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { cloudProgram } from "./cloud_program.ts";

/** How a command line is run. Left out: no environment, no terminal. */
export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly terminal?: Terminal;
  /** Receives what is printed while the command continues. */
  readonly onText?: (text: string) => void;
}

/** Runs `machine-cloud …` in this process. @returns all that it printed. For tests. */
export async function runCloudCommand(
  argv: readonly string[],
  { env = {}, terminal = NO_TERMINAL, onText }: RunOptions = {},
): Promise<string> {
  const deps = { clock: systemClock, random: systemRandom };
  let printed = "";
  await runCommandLine(argv, cloudProgram(deps), {
    ...{ ...deps, terminal, env: (name: string) => env[name] },
    write: (bytes) => {
      const text = new TextDecoder().decode(bytes);
      printed += text;
      onText?.(text);
      return Promise.resolve();
    },
    warn: () => {},
  });
  return printed;
}
