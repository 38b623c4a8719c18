import type { ProcessRunner } from "../../shared/base/process/child_process.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import { ownProgram, type SubprocessCommand } from "../../shared/base/process/own_program.ts";
import type { MachineSeat } from "../data/machine_seat.ts";
import type { Kernel } from "./kernel/kernel.ts";

/** What the built-in models need from outside. */
export interface BuiltinEnvironment {
  readonly clock: Clock;
  /** Starts the programs of drivers. */
  readonly processes: ProcessRunner;
  /** `-untrusted-env`: whoever configures the machine must not run programs on it. */
  readonly untrusted: boolean;
  /** Folder of the server's state, `$MACHINE_HOME`. */
  readonly home: string;
  /** The server's own environment; what it starts gets it too. */
  readonly variables: () => Readonly<Record<string, string>>;
  /** How this program is started for one of its jobs. Default: from its sources. */
  readonly subprocess?: (job: string) => SubprocessCommand;
  /** Where the data manager finds the machine that it is a part of. Default: there is none. */
  readonly seat?: MachineSeat;
  /** Opens the system calls that drivers of hardware use. Default: those of this host. */
  readonly kernel?: () => Kernel;
}

/** The command of a process of this program. @param job its first argument, which `subprocesses.ts` knows. */
export function subprocessOf(
  { subprocess }: Pick<BuiltinEnvironment, "subprocess">,
  job: string,
): SubprocessCommand {
  return subprocess?.(job) ?? ownProgram(job, new URL("./subprocess_main.ts", import.meta.url));
}

/** A model that runs programs was configured where that is not allowed. */
export class UntrustedError extends Error {
  override readonly name = "UntrustedError";
  /** @param what in the form "the command sensor". */
  constructor(what: string) {
    super(
      `${what} is switched off: the server runs with -untrusted-env, and nobody may run programs ` +
        "through its configuration",
    );
  }
}
