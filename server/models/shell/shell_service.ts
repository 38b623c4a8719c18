import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { ShellService } from "../../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import { receiveFiles } from "./receive_files.ts";
import { sendFiles } from "./send_files.ts";
import { openLinuxPty } from "./linux_pty.ts";
import { runTerminal } from "./terminal.ts";

/** A caller that takes nothing more must not hold up the server. Milliseconds. */
const CLOSE_MS = 5_000;
/** Each takes processes and a thread that waits. */
const MAX_CALLS = 16;

type Environment = Pick<BuiltinEnvironment, "clock" | "processes" | "home" | "variables">;

/** A driver of the shell API. Paths of callers are relative to the user's home folder. */
export function createShellService(
  environment: Environment,
  log: Logger,
): Driver<typeof ShellService> {
  const { home, variables } = environment;
  const folders = () => {
    const { HOME, USERPROFILE } = variables();
    return { user: HOME || USERPROFILE || home, machine: home };
  };
  const calls = new Calls();
  return {
    shell: (requests, { signal }) =>
      calls.run(
        signal,
        (signal) => runTerminal(requests, signal, { ...environment, openPty: openLinuxPty, log }),
      ),
    copyFilesToMachine: (requests, { signal }) =>
      calls.run(signal, (signal) => receiveFiles(requests, signal, folders())),
    copyFilesFromMachine: (requests, { signal }) =>
      calls.run(signal, (signal) => sendFiles(requests, signal, { folders: folders(), log })),
    doCommand(command) {
      const answers: Readonly<Record<string, JsonObject>> = {
        get_machine_home: { machine_home: home },
        get_viam_home: { viam_home: home },
      };
      const asked = Object.keys(answers).find((name) =>
        command["command"] === name || Object.hasOwn(command, name)
      );
      if (asked !== undefined) return answers[asked]!;
      throw new ConnectError(
        `the shell service knows the commands ${
          Object.keys(answers).map((name) => `{"command": "${name}"}`).join(" and ")
        }, not ${JSON.stringify(command)}`,
        Code.InvalidArgument,
      );
    },
    close: () => calls.close(environment.clock),
  };
}

/** The streams under way: bounded, and ended with the service. */
class Calls {
  readonly #active = new Map<AbortController, Promise<void>>();
  #closed = false;

  async *run<T>(
    parent: AbortSignal,
    stream: (signal: AbortSignal) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    if (this.#closed) throw new ConnectError("the shell service is closed", Code.Unavailable);
    if (this.#active.size >= MAX_CALLS) {
      throw new ConnectError(
        `${MAX_CALLS} shells and copies are open already; close one of them`,
        Code.ResourceExhausted,
      );
    }
    const controller = linkedController(parent);
    const ended = Promise.withResolvers<void>();
    this.#active.set(controller, ended.promise);
    try {
      yield* stream(controller.signal);
    } finally {
      this.#active.delete(controller);
      controller.abort(new Error("the call is over"));
      ended.resolve();
    }
  }

  async close(clock: Clock): Promise<void> {
    this.#closed = true;
    const active = [...this.#active];
    const reason = new ConnectError("the shell service was closed", Code.Unavailable);
    for (const [controller] of active) controller.abort(reason);
    const patience = new AbortController();
    await Promise.race([
      Promise.all(active.map(([, ended]) => ended)),
      clock.sleep(CLOSE_MS, patience.signal).catch(() => {}), // all have ended
    ]);
    patience.abort();
  }
}
