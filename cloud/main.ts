import { versionText } from "../shared/base/build_info/build_info.ts";
import { toError } from "../shared/base/errors/to_error.ts";
import { writeAll } from "../shared/base/files/write_all.ts";
import { parseCommand, UsageError } from "../shared/base/flags/flags.ts";
import { configureLogging } from "../shared/log/configure.ts";
import { getLogger } from "../shared/log/loggers.ts";
import { systemClock } from "../shared/base/time/clock.ts";
import { trustSystemCertificates } from "../shared/cloud/tls_trust/system_certificates.ts";
import { peopleCommands } from "./local/people/people_flags.ts";
import { bootstrapFlags, runBootstrap } from "./local/bootstrap/bootstrap_command.ts";
import { CHECKPOINT_PROCESS } from "./storage/checkpoints/checkpoint_process_name.ts";
import { dataCommands } from "./cli/data/data_flags.ts";
import { QUERY_PROCESS } from "./data/queries/query_process_name.ts";
import { systemRandom } from "./storage/keys/random.ts";
import { operationCommands } from "./operations/operation_flags.ts";
import { moduleCommands } from "./cli/modules/module_flags.ts";
import { releaseCommands } from "./cli/releases/release_flags.ts";
import { secretCommands } from "./cli/secrets/secret_flags.ts";
import { runServe } from "./serve/serve_command.ts";
import { serveFlags } from "./serve/serve_flags.ts";
import { readServeOptions } from "./serve/serve_options.ts";
import { untilToldToStop } from "./serve/stop_signal.ts";
import { trainingCommands } from "./cli/training/training_flags.ts";
import { triggerCommands } from "./cli/triggers/trigger_flags.ts";

const PROGRAM = "machine-cloud";

async function main(argv: readonly string[]): Promise<number | void> {
  if (argv[0] === QUERY_PROCESS) {
    const { runQueryProcess } = await import("./data/queries/query_process.ts");
    return await runQueryProcess(argv[1] ?? "");
  }
  if (argv[0] === CHECKPOINT_PROCESS) {
    const { runCheckpointProcess } = await import("./storage/checkpoints/checkpoint_process.ts");
    return await runCheckpointProcess(argv[1] ?? "");
  }
  const parsed = parseCommand(argv, {
    program: PROGRAM,
    summary: "machine-cloud keeps the configuration, logs and keys of machines and serves them.",
    commands: {
      serve: { summary: "Serve machines, their users and the console.", flags: serveFlags },
      bootstrap: {
        summary: "Make an organisation, a location, a machine and an API key; print them as JSON.",
        flags: bootstrapFlags,
      },
      ...moduleCommands,
      ...releaseCommands,
      ...triggerCommands,
      ...dataCommands,
      ...trainingCommands,
      ...secretCommands,
      ...operationCommands,
      ...peopleCommands,
      version: { summary: "Print the version.", flags: {} },
    },
  });
  const deps = { clock: systemClock, random: systemRandom };
  switch (parsed.command) {
    case "help":
      return print(parsed.text);
    case "version":
      return print(`${versionText(PROGRAM)}\n`);
    case "bootstrap":
      return print(`${JSON.stringify(await runBootstrap(parsed.values, { ...deps, warn }))}\n`);
    case "module upload":
    case "module list":
    case "module remove":
    case "module namespace": {
      const { runModuleCommand } = await import("./cli/modules/module_command.ts");
      return print(await runModuleCommand(parsed, deps));
    }
    case "release add":
    case "release list":
    case "release remove":
    case "release promote":
    case "release withdraw":
    case "release rollout":
    case "release pause":
    case "release resume":
    case "release key":
    case "agent tell": {
      const { runReleaseCommand } = await import("./cli/releases/release_command.ts");
      return print(await runReleaseCommand(parsed, deps));
    }
    case "trigger list":
    case "trigger set":
    case "trigger delete":
    case "trigger test":
    case "trigger deliveries":
    case "trigger replay":
    case "trigger secret":
    case "trigger owners": {
      const { runTriggerCommand } = await import("./cli/triggers/trigger_command.ts");
      return print(await runTriggerCommand(parsed, deps));
    }
    case "secret list":
    case "secret create":
    case "secret delete": {
      const { runSecretCommand } = await import("./cli/secrets/secret_command.ts");
      return print(await runSecretCommand(parsed, deps));
    }
    case "owner add":
    case "sign-in-link":
    case "reset-password":
    case "invitation link": {
      const { runPeopleCommand } = await import("./local/people/people_command.ts");
      return print(await runPeopleCommand(parsed, deps));
    }
    case "data sources":
    case "data export":
    case "data settings": {
      const { runDataCommand } = await import("./cli/data/data_command.ts");
      return print(await runDataCommand(parsed, { ...deps, write: writeOutput }));
    }
    case "training submit":
    case "training list":
    case "training get":
    case "training logs":
    case "training cancel":
    case "training delete":
    case "training containers":
    case "training-script upload":
    case "training-script list": {
      const { runTrainingCommand } = await import("./cli/training/training_command.ts");
      return print(await runTrainingCommand(parsed, { ...deps, write: writeOutput }));
    }
    case "backup":
    case "restore":
    case "doctor": {
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
  const hint = error instanceof UsageError ? `\n${PROGRAM} --help tells what is allowed` : "";
  warn(`${message}${hint}`);
  return error instanceof UsageError ? 2 : 1;
}

if (import.meta.main) {
  trustSystemCertificates(warn);
  Deno.exit(await main(Deno.args).then((code) => code ?? 0, fail));
}
