import {
  type FlagSpec,
  parseFlags,
  type ReadEnv,
  renderHelp,
  UsageError,
} from "../../shared/base/flags/flags.ts";

import {
  type EnrollmentSettings,
  EnrollmentSettingsError,
  parseEnrollment,
} from "../settings/enrollment_settings.ts";
import { type OwnerCommand, readOwnerCommand } from "./owner_commands.ts";
import { absolute, DIR, PROGRAM } from "./shared_flags.ts";

export { PROGRAM } from "./shared_flags.ts";

/** What the command line and the environment decide. */
export interface AgentOptions {
  /** Absolute path of the credentials file. */
  readonly credentialsFile: string;
  /** Absolute path of the manufacturer's defaults file. */
  readonly defaultsFile: string;
  /** Absolute path of the agent's folder. */
  readonly dir: string;
  /** Debug logging, or none, whatever the cloud sets; undefined: the cloud decides. */
  readonly debug: boolean | undefined;
  /** Look for updates before the server is started, likewise. */
  readonly wait: boolean | undefined;
  /** Never wait; beats {@link AgentOptions.wait} and the cloud. */
  readonly fastStart: boolean;
  /** Run as any user and not as a service. */
  readonly devMode: boolean;
  /** How to become a machine where there are no credentials; undefined: the options do not say. */
  readonly enrollment?: EnrollmentSettings | undefined;
}

/** How the service is installed or removed. */
export interface InstallOptions {
  /** Paths as the machine sees them. */
  readonly credentialsFile: string;
  readonly defaultsFile: string;
  readonly dir: string;
  /** Root of the file system to change, absolute; undefined: this host's. */
  readonly root: string | undefined;
  /** Without a service: only the agent's folder, for development. */
  readonly devMode: boolean;
  /** The program to install, absolute; undefined: this one. */
  readonly program: string | undefined;
  /** Kept for the service; undefined: what there is stays. */
  readonly enrollment?: EnrollmentSettings | undefined;
}

/** What `status` shows, and how. */
export interface StatusOptions {
  readonly dir: string;
  readonly credentialsFile: string;
  readonly json: boolean;
}

/** What the command line requests. */
export type AgentCommand =
  | { readonly kind: "run"; readonly options: AgentOptions; readonly asService: boolean }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "version" }
  | { readonly kind: "status"; readonly options: StatusOptions }
  | { readonly kind: "install"; readonly options: InstallOptions }
  | { readonly kind: "uninstall"; readonly options: InstallOptions; readonly purge: boolean }
  | OwnerCommand
  /** The service manager of Windows gave a version on trial up. */
  | {
    readonly kind: "restore";
    readonly options: Pick<InstallOptions, "credentialsFile" | "defaultsFile" | "dir">;
  };

const CREDENTIALS = {
  type: "string",
  aliases: ["c"],
  default: "/etc/machine.json",
  placeholder: "FILE",
  doc: "Machine credentials.",
} as const;

/** The options of the agent; defaults of paths are those of the system. */
export function agentFlags(os: string) {
  return {
    program: PROGRAM,
    summary: "machine-agent starts machine-server, keeps it running and reports to the cloud.",
    flags: {
      "config": CREDENTIALS,
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
        doc: "Look for new versions, and install them, before the server is started: at " +
          "most a minute for the answer and ten for the download.",
      },
      "enrollment-token": {
        type: "string",
        env: "MACHINE_ENROLLMENT_TOKEN",
        placeholder: "TOKEN",
        doc: "Where there are no credentials: become a machine by this token. With --install it " +
          "is kept for the service. Prefer the variable; everybody sees command lines.",
      },
      "cloud-address": {
        type: "string",
        env: "MACHINE_CLOUD_ADDRESS",
        placeholder: "URL",
        doc: "With --enrollment-token: the cloud, https://HOST:PORT.",
      },
      "install": {
        type: "boolean",
        doc: "Install this program as a system service, or upgrade the one that is there. With " +
          "--dev-mode: only into the agent's folder.",
      },
      "uninstall": { type: "boolean", doc: "Remove the service and the agent's files." },
      "purge": {
        type: "boolean",
        doc: "With --uninstall: remove the credentials and the defaults, too.",
      },
      "root": {
        type: "string",
        placeholder: "DIR",
        doc: "With --install and --uninstall: the file system to change, a mounted image for " +
          "example. Nothing is started.",
      },
      "dev-mode": {
        type: "boolean",
        env: "MACHINE_AGENT_DEVMODE",
        doc: "Run as any user and not as a service.",
      },
      "dir": DIR(os),
      "version": { type: "boolean", aliases: ["v"], doc: "Print the version." },
      "fast-start": {
        type: "boolean",
        env: "MACHINE_AGENT_FAST_START",
        hidden: true,
        doc: "Never wait before the server is started.",
      },
      "program": {
        type: "string",
        placeholder: "FILE",
        hidden: true,
        doc: "The program to install in place of this one.",
      },
      "service": { type: "boolean", hidden: true, doc: "Started by Windows as a service." },
      "restore": { type: "boolean", hidden: true, doc: "Put the version before a trial back." },
    },
    footer: "machine-agent status --help: what the agent does and waits for.\n" +
      "machine-agent open-window, close-window, allow-version --help: what only the owner decides.\n" +
      "The server's version and more is set in the machine's configuration under \"agent\".",
  } as const satisfies FlagSpec;
}

/** The options of `machine-agent status`. */
export function statusFlags(os: string) {
  return {
    program: `${PROGRAM} status`,
    summary: "Prints versions, states and what the agent waits for, whether it runs or not.",
    flags: {
      "config": CREDENTIALS,
      "dir": DIR(os),
      "json": { type: "boolean", doc: "Print one JSON object." },
    },
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
  if (argv[0] === "status") return readStatus(argv.slice(1), os, env);
  const owners = readOwnerCommand(argv, os, env);
  if (owners) return owners;
  const spec = agentFlags(os);
  const { values, given, help } = parseFlags(argv, spec, env);
  if (help) return { kind: "help", text: renderHelp(spec) };
  if (values.version) return { kind: "version" };
  checkTogether(values);
  const paths = {
    credentialsFile: absolute(values.config),
    defaultsFile: absolute(values.defaults),
    dir: absolute(values.dir),
  };
  if (values.restore) return { kind: "restore", options: paths };
  if (values.install || values.uninstall) {
    const options = {
      ...paths,
      root: values.root && absolute(values.root),
      devMode: values["dev-mode"],
      program: values.program && absolute(values.program),
      ...readEnrollment(values),
    };
    return values.install
      ? { kind: "install", options }
      : { kind: "uninstall", options, purge: values.purge };
  }
  return {
    kind: "run",
    asService: values.service,
    options: {
      ...paths,
      debug: given.has("debug") ? values.debug : undefined,
      wait: given.has("wait") ? values.wait : undefined,
      fastStart: values["fast-start"],
      devMode: values["dev-mode"],
      ...readEnrollment(values),
    },
  };
}

/** An address alone says nothing: installs name it for the download, too. @throws {UsageError} */
function readEnrollment(
  values: {
    readonly "enrollment-token"?: string | undefined;
    readonly "cloud-address"?: string | undefined;
  },
): Pick<AgentOptions, "enrollment"> {
  const token = values["enrollment-token"];
  if (token === undefined || token === "") return {};
  const app_address = values["cloud-address"] ?? null;
  try {
    const where = "--enrollment-token and --cloud-address";
    return { enrollment: parseEnrollment({ token, app_address }, where) };
  } catch (error) {
    if (error instanceof EnrollmentSettingsError) throw new UsageError(error.message);
    throw error;
  }
}

function readStatus(argv: readonly string[], os: string, env: ReadEnv | undefined): AgentCommand {
  const spec = statusFlags(os);
  const { values, help } = parseFlags(argv, spec, env);
  if (help) return { kind: "help", text: renderHelp(spec) };
  const { config, dir, json } = values;
  const options = { dir: absolute(dir), credentialsFile: absolute(config), json };
  return { kind: "status", options };
}

/** @throws {UsageError} for options that say nothing, or the opposite, of one another. */
function checkTogether(
  { install, uninstall, purge, root }: {
    install: boolean;
    uninstall: boolean;
    purge: boolean;
    root: string | undefined;
  },
): void {
  const usage = (problem: string) =>
    new UsageError(`${problem}; ${PROGRAM} --help lists what is allowed`);
  if (install && uninstall) throw usage("--install and --uninstall exclude each other");
  if (purge && !uninstall) throw usage("--purge goes with --uninstall");
  if (root !== undefined && !install && !uninstall) {
    throw usage("--root goes with --install or --uninstall");
  }
}
