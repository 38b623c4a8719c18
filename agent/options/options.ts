import { isAbsolute, join, resolve } from "node:path";
import { type FlagSpec, parseFlags, type ReadEnv, renderHelp } from "../../shared/flags/flags.ts";

export const PROGRAM = "machine-agent";

/** What the command line and the environment decide. */
export interface AgentOptions {
  /** Absolute path of the credentials file. */
  readonly credentialsFile: string;
  /** Absolute path of the manufacturer's defaults file. */
  readonly defaultsFile: string;
  /** Absolute path of the agent's folder. */
  readonly dir: string;
  /** Debug logging whatever the cloud says. */
  readonly debug: boolean;
  /** Wait for the cloud's answer before the server is started, whatever the cloud says. */
  readonly wait: boolean;
  /** Never wait; beats {@link AgentOptions.wait} and the cloud. */
  readonly fastStart: boolean;
  /** Run as any user and not as a service. */
  readonly devMode: boolean;
}

/** What the command line asks for. */
export type AgentCommand =
  | { readonly kind: "run"; readonly options: AgentOptions }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "version" }
  | { readonly kind: "install" };

/** The options of the agent; defaults of paths are those of the system. */
function flagSpec(os: string) {
  return {
    program: PROGRAM,
    summary: "machine-agent starts machine-server, keeps it running and tells the cloud about it.",
    flags: {
      "config": {
        type: "string",
        aliases: ["c"],
        default: "/etc/machine.json",
        placeholder: "FILE",
        doc: "Machine credentials.",
      },
      "defaults": {
        type: "string",
        default: "/etc/machine-defaults.json",
        placeholder: "FILE",
        doc: "The manufacturer's defaults; the cloud's settings win over them.",
      },
      "debug": {
        type: "boolean",
        aliases: ["d"],
        env: "MACHINE_AGENT_DEBUG",
        doc: "Debug logging of the agent.",
      },
      "wait": {
        type: "boolean",
        aliases: ["w"],
        env: "MACHINE_AGENT_WAIT_FOR_UPDATE",
        doc: "Ask the cloud for new versions before the server is started; at most a minute.",
      },
      "install": { type: "boolean", doc: "Install the system service." },
      "dev-mode": {
        type: "boolean",
        env: "MACHINE_AGENT_DEVMODE",
        doc: "Run as any user and not as a service.",
      },
      "dir": {
        type: "string",
        default: os === "windows" ? "c:\\opt\\machine" : "/opt/machine",
        placeholder: "DIR",
        doc: "The agent's own folder.",
      },
      "version": { type: "boolean", aliases: ["v"], doc: "Print the version." },
      "fast-start": {
        type: "boolean",
        env: "MACHINE_AGENT_FAST_START",
        hidden: true,
        doc: "Never wait before the server is started.",
      },
    },
    footer: "The server's version and more is set in the machine's configuration under \"agent\".",
  } as const satisfies FlagSpec;
}

/**
 * Reads the command line.
 *
 * @throws {UsageError}
 */
export function readCommand(
  argv: readonly string[],
  { env, os = Deno.build.os }: { env?: ReadEnv; os?: string } = {},
): AgentCommand {
  const spec = flagSpec(os);
  const { values, help } = parseFlags(argv, spec, env);
  if (help) return { kind: "help", text: renderHelp(spec) };
  if (values.version) return { kind: "version" };
  if (values.install) return { kind: "install" };
  return {
    kind: "run",
    options: {
      credentialsFile: absolute(values.config),
      defaultsFile: absolute(values.defaults),
      dir: absolute(values.dir),
      debug: values.debug,
      wait: values.wait,
      fastStart: values["fast-start"],
      devMode: values["dev-mode"],
    },
  };
}

function absolute(path: string): string {
  return isAbsolute(path) ? path : resolve(join(".", path));
}
