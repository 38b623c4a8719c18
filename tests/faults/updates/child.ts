/** Runs a machine until it is killed, wishes to end, or stands still; says then how it stands. */
import { type MachineOptions, shortStatus, startMachine } from "./machine.ts";

interface ChildOptions
  extends Pick<MachineOptions, "dir" | "server" | "agent" | "self" | "limits"> {
  /** While this file is there the agent does not reach the cloud. */
  readonly noCloudFile?: string;
  /** Ends by itself when it stands still; else it runs on. */
  readonly untilSettled?: boolean;
}

const options: ChildOptions = JSON.parse(Deno.args[0] ?? "{}");
const { noCloudFile } = options;
const machine = await startMachine({
  ...options,
  ...(noCloudFile === undefined ? {} : { cloud: () => !exists(noCloudFile) }),
});
const isSettled = () => {
  const { serving, server, agent } = shortStatus(machine);
  const still = ["idle", "refused"];
  return serving !== undefined && still.includes(server.state) && still.includes(agent.state);
};
while (machine.exitCode === undefined && !(options.untilSettled && isSettled())) {
  await new Promise((resolve) => setTimeout(resolve, 5));
}
const status = shortStatus(machine);
await machine.stop();
await Deno.stdout.write(new TextEncoder().encode(`${JSON.stringify(status)}\n`));
Deno.exit(machine.exitCode ?? 0);

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
