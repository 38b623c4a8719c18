import { join, resolve } from "node:path";

/** What `make run` was asked to do. */
export interface RunOptions {
  /** Prove that it works, then end. */
  check: boolean;
  help: boolean;
  /** Port of the cloud; the machine's server takes the next one. */
  port: number;
  /** Where everything that is kept between two runs lies. */
  dataDir: string;
  /** Folder with compiled programs to run in place of `bin/`. */
  binaries: string | undefined;
}

/** The options are not usable; the message says why and what to do. */
export class RunUsageError extends Error {
  override name = "RunUsageError";
}

export const RUN_HELP = `make run [ARGS=…] [PORT=8080] [MACHINE_DEV_DIR=.machine]

Runs a cloud, and a machine with its agent and its server, on this host.

  --check          wait until a reading of the machine has arrived at the cloud, print it as JSON,
                   stop everything; exit code 0, or 1 with the reason
  --binaries DIR   run the compiled programs in DIR (see make server, agent, cloud)
  --help           this text

  PORT             port of the cloud, default 8080; the machine's server takes the next one
  MACHINE_DEV_DIR  folder for everything that is kept, default .machine
  MACHINE_BROWSER  program that opens the page, default that of the desktop; none: no browser
`;

/**
 * Reads the command line and the environment.
 * @param root the repository; a relative MACHINE_DEV_DIR begins there
 * @throws RunUsageError
 */
export function parseRunOptions(
  argv: readonly string[],
  env: { get(name: string): string | undefined },
  root: string,
): RunOptions {
  const options: RunOptions = {
    check: false,
    help: false,
    port: parsePort(env.get("PORT") || "8080"),
    dataDir: resolve(root, env.get("MACHINE_DEV_DIR") || ".machine"),
    binaries: undefined,
  };
  for (let i = 0; i < argv.length; i++) {
    const [name, inline] = splitOnce(argv[i] ?? "", "=");
    if (name === "--check" && inline === undefined) options.check = true;
    else if ((name === "--help" || name === "-h") && inline === undefined) options.help = true;
    else if (name === "--binaries") {
      const value = inline ?? argv[++i];
      if (!value) throw new RunUsageError("--binaries needs a folder, for example --binaries dist");
      options.binaries = resolve(root, value);
    } else throw new RunUsageError(`unknown option ${argv[i]}; see make run ARGS=--help`);
  }
  return options;
}

/** Path of a program: the launcher in `bin/`, or a compiled one. */
export function programPath(
  name: "machine" | "machine-cloud" | "machine-agent" | "machine-server",
  options: Pick<RunOptions, "binaries">,
  root: string,
  target: { os: string; arch: string } = Deno.build,
): string {
  if (options.binaries === undefined) return join(root, "bin", name);
  const arch = target.arch === "aarch64" ? "arm64" : "x64";
  const suffix = target.os === "windows" ? ".exe" : "";
  return join(options.binaries, `${name}-${target.os}-${arch}${suffix}`);
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65534) {
    throw new RunUsageError(`PORT is "${text}"; it must be a number from 1 to 65534`);
  }
  return port;
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
