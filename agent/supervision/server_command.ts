import type { ChildCommand } from "../../shared/process/child_process.ts";

type Environment = Readonly<Record<string, string>>;

/** Tells a server that this agent asks the cloud whether it must restart; ours and the family's. */
const AGENT_ASKS_FOR_RESTARTS: Environment = {
  MACHINE_AGENT_HANDLES_NEEDS_RESTART: "true",
  VIAM_AGENT_HANDLES_NEEDS_RESTART_CHECKING: "true",
};

/** What the service manager says to the agent alone: a child that answered would speak for it. */
const FOR_THE_AGENT = /^(NOTIFY_SOCKET|WATCHDOG_(PID|USEC)|LISTEN_(PID|FDS|FDNAMES))$/;

export interface ServerCommandOptions {
  readonly program: string;
  readonly credentialsFile: string;
  readonly dir: string;
  /** The agent's own environment. */
  readonly inherited: Environment;
  /** `machine_server_env`; wins over what is inherited. */
  readonly configured: Environment;
}

/** How the server is started. */
export function serverCommand(options: ServerCommandOptions): Omit<ChildCommand, "onLine"> {
  const { program, credentialsFile, dir, inherited, configured } = options;
  const passedOn = Object.entries(inherited).filter(([name]) => !FOR_THE_AGENT.test(name));
  return {
    program,
    args: ["-config", credentialsFile],
    cwd: dir,
    env: { ...Object.fromEntries(passedOn), ...configured, ...AGENT_ASKS_FOR_RESTARTS },
  };
}

/** Whether two environments hold the same. */
export function isSameEnvironment(a: Environment, b: Environment): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
