/**
 * An agent: runs its machine until it is killed, wishes to end, or stands still; says then how it
 * stands. Its first argument is {@link ChildOptions} as JSON.
 */
import { join } from "node:path";
import { AgentState } from "../../../agent/state/agent_state.ts";
import { connect } from "../../../shared/base/store/connect.ts";
import { type MachineOptions, shortStatus, startMachine } from "./machine.ts";

type Passed = "dir" | "server" | "agent" | "limits" | "trialLimitS" | "closedQuestions";

export interface ChildOptions extends Pick<MachineOptions, Passed> {
  /** Of this agent; undefined: it cannot be replaced. */
  readonly version?: string;
  /** While this file is there the agent does not reach the cloud. */
  readonly noCloudFile?: string;
  /** This version brings the schema of agent.db on; others refuse it then. */
  readonly bringsSchemaOn?: boolean;
  /** It runs so long and then ends on its own with code 9. */
  readonly endsAfterMs?: number;
  /** It stands still at this state of the agent's update: `idle`, `refused`; `never`: never. */
  readonly settlesAt?: string;
}

const NEWER = "INSERT INTO schema_migrations VALUES (9999, 'newer schema', '')";
const OLDER = "DELETE FROM schema_migrations WHERE version = 9999";

const options: ChildOptions = JSON.parse(Deno.args[0] ?? "{}");
const { dir, version, noCloudFile, bringsSchemaOn, endsAfterMs } = options;
const settlesAt = Deno.env.has("SETTLES") ? undefined : options.settlesAt;
const database = join(dir, "agent.db");
if (endsAfterMs !== undefined) setTimeout(() => Deno.exit(9), endsAfterMs);
if (bringsSchemaOn) change(OLDER);
const program = Deno.env.get("MACHINE_AGENT_PROGRAM");
const machine = await startMachine({
  ...options,
  ...(version === undefined || !program ? {} : { self: { version, path: program } }),
  ...(noCloudFile === undefined ? {} : { cloud: () => !exists(noCloudFile) }),
});
if (bringsSchemaOn) change(NEWER);
const isSettled = () => {
  const { serving, server, agent } = shortStatus(machine);
  if (settlesAt !== undefined && agent.state !== settlesAt) return false;
  const still = ["idle", "refused"];
  return serving !== undefined && still.includes(server.state) && still.includes(agent.state);
};
while (machine.exitCode === undefined && !isSettled()) {
  await new Promise((resolve) => setTimeout(resolve, 5));
}
const status = shortStatus(machine);
await machine.stop();
const line = JSON.stringify({ version, code: machine.exitCode ?? 0, ...status });
await Deno.stdout.write(new TextEncoder().encode(`${line}\n`));
Deno.exit(machine.exitCode ?? 0);

function change(sql: string): void {
  if (!exists(database)) AgentState.open(database).close();
  const db = connect(database, undefined, false);
  db.exec(sql);
  db.close();
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
