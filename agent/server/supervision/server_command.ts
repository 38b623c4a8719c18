import type { ChildCommand } from "../../../shared/base/process/child_process.ts";

type Environment = Readonly<Record<string, string>>;

/**
 * Notifies a server that this agent polls the cloud whether it must restart; ours and the family's.
 */
const AGENT_ASKS_FOR_RESTARTS: Environment = {
  MACHINE_AGENT_HANDLES_NEEDS_RESTART: "true",
  VIAM_AGENT_HANDLES_NEEDS_RESTART_CHECKING: "true",
};

/** Names of variables that the server passes on to the programs that it starts. */
const PASS_VARIABLE = "MACHINE_PASS_ENV";

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
    env: {
      ...Object.fromEntries(passedOn),
      ...configured,
      ...passedToChildren(inherited, configured),
      ...AGENT_ASKS_FOR_RESTARTS,
    },
  };
}

/** The server's children get what is configured as well; of what is inherited it chooses itself. */
function passedToChildren(inherited: Environment, configured: Environment): Environment {
  const named = configured[PASS_VARIABLE] ?? inherited[PASS_VARIABLE];
  const names = Object.keys(configured).filter((name) => name !== PASS_VARIABLE);
  if (names.length === 0) return {};
  return { [PASS_VARIABLE]: [...(named ? [named] : []), ...names].join(",") };
}

/** Whether two environments hold the same. */
export function isSameEnvironment(a: Environment, b: Environment): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
