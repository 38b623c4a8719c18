import { versionText } from "../shared/base/build_info/build_info.ts";
import { toError } from "../shared/base/errors/to_error.ts";
import { writeAll } from "../shared/base/files/write_all.ts";
import { parseCommand, UsageError } from "../shared/base/flags/flags.ts";
import { systemClock } from "../shared/base/time/clock.ts";
import { trustSystemCertificates } from "../shared/cloud/tls_trust/system_certificates.ts";
import { systemTerminal } from "../shared/commands/output/terminal.ts";
import { namesCommand } from "../shared/commands/run/find_command.ts";
import { runCommandLine } from "../shared/commands/run/run_command.ts";
import { configureLogging } from "../shared/log/configure.ts";
import { getLogger } from "../shared/log/loggers.ts";
import { bootstrapFlags, runBootstrap } from "./local/bootstrap/bootstrap_command.ts";
import { cloudProgram } from "./local/commands/cloud_program.ts";
import { peopleCommands } from "./local/people/people_flags.ts";
import { operationCommands } from "./operations/operation_flags.ts";
import { runServe } from "./serve/serve_command.ts";
import { serveFlags } from "./serve/serve_flags.ts";
import { readServeOptions } from "./serve/serve_options.ts";
import { untilToldToStop } from "./serve/stop_signal.ts";
import { systemRandom } from "./storage/keys/random.ts";
import { SUBPROCESSES } from "./subprocesses.ts";

const PROGRAM = "machine-cloud";

/** The commands that are this program's own. */
const ownCommands = {
  serve: { summary: "Serve machines, their users and the console.", flags: serveFlags },
  bootstrap: {
    summary: "Make an organisation, a location, a machine and an API key; print them as JSON.",
    flags: bootstrapFlags,
  },
  ...peopleCommands,
  ...operationCommands,
  version: { summary: "Print the version.", flags: {} },
} as const;

async function main(argv: readonly string[]): Promise<number | void> {
  const subprocess = SUBPROCESSES.get(argv[0] ?? "");
  if (subprocess) return await subprocess(argv[1] ?? "");
  const deps = { clock: systemClock, random: systemRandom };
  const program = cloudProgram(deps);
  if (namesCommand(argv, program.tree)) {
    const env = (name: string) => Deno.env.get(name);
    return await runCommandLine(argv, program, {
      ...{ ...deps, env, terminal: systemTerminal(env), write: writeOutput },
      warn: (text) => void Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`)),
    });
  }
  const parsed = parseCommand(argv, {
    program: PROGRAM,
    summary: program.summary,
    commands: ownCommands,
    others: program.tree,
  });
  switch (parsed.command) {
    case "help":
      return print(parsed.text);
    case "version":
      return print(`${versionText(PROGRAM)}\n`);
    case "bootstrap":
      return print(`${JSON.stringify(await runBootstrap(parsed.values, { ...deps, warn }))}\n`);
    case "owner add":
    case "sign-in-link":
    case "reset-password":
    case "invitation link": {
      const { runPeopleCommand } = await import("./local/people/people_command.ts");
      return print(await runPeopleCommand(parsed, deps));
    }
    case "backup":
    case "restore":
    case "migrate":
    case "doctor":
    case "health": {
      const { runOperationCommand } = await import("./operations/operation_command.ts");
      const { text, code } = await runOperationCommand(parsed, { ...deps, warn });
      print(text);
      return code;
    }
    case "serve": {
      const home = Deno.env.get("HOME") ?? Deno.env.get("USERPROFILE") ?? ".";
      const options = await readServeOptions(parsed.values, home, (name) => Deno.env.get(name));
      const stop = untilToldToStop();
      const logging = await configureLogging({ debug: parsed.values.debug });
      try {
        await runServe(parsed.values, options, { ...deps, log: getLogger(PROGRAM) }, stop);
      } finally {
        await logging.close();
      }
    }
  }
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}

function writeOutput(bytes: Uint8Array): Promise<void> {
  return writeAll(Deno.stdout, bytes);
}

function warn(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${PROGRAM}: ${text}\n`));
}

function fail(error: unknown): number {
  const message = toError(error).message;
  const hint = error instanceof UsageError ? `\n${PROGRAM} --help shows what is allowed` : "";
  warn(`${message}${hint}`);
  return error instanceof UsageError ? 2 : 1;
}

if (import.meta.main) {
  trustSystemCertificates(warn);
  Deno.exit(await main(Deno.args).then((code) => code ?? 0, fail));
}
