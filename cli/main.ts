import { toError } from "../shared/base/errors/to_error.ts";
import { versionText } from "../shared/base/build_info/build_info.ts";
import { writeAll } from "../shared/base/files/write_all.ts";
import { systemClock } from "../shared/base/time/clock.ts";
import { openBrowser } from "../shared/base/process/open_browser.ts";
import { trustSystemCertificates } from "../shared/cloud/tls_trust/system_certificates.ts";
import { systemTerminal } from "../shared/commands/output/terminal.ts";
import { exitCodeOf, runCommandLine } from "../shared/commands/run/run_command.ts";
import { systemEditor } from "./config/edit.ts";
import { ask } from "./asking/ask.ts";
import { machineProgram, PROGRAM } from "./program/program.ts";
import { systemKeyboard } from "./reach/shell_command.ts";

async function main(argv: readonly string[]): Promise<void> {
  if (/^(-v|--?version|version)$/.test(argv[0] ?? "")) return await print(versionText(PROGRAM));
  const env = (name: string) => Deno.env.get(name);
  const program = machineProgram({
    env,
    ask,
    browser: {
      clock: systemClock,
      isInteractive: Deno.stdin.isTerminal() && Deno.stderr.isTerminal(),
      open: (url) =>
        openBrowser({ os: Deno.build.os, env, isTerminal: Deno.stderr.isTerminal() }, url),
      tell: (text) => void Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`)),
      computer: Deno.hostname(),
    },
    openEditor: systemEditor(env),
    readInput: () => new Response(Deno.stdin.readable).text(),
    keyboard: systemKeyboard,
    stop: new AbortController().signal,
  });
  await runCommandLine(argv, program, {
    clock: systemClock,
    random: { uuid: () => crypto.randomUUID() },
    terminal: systemTerminal(env),
    env,
    write: writeOut,
    warn: (text) => void Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`)),
  });
}

async function print(text: string): Promise<void> {
  await writeOut(new TextEncoder().encode(`${text}\n`));
}

async function writeOut(bytes: Uint8Array): Promise<void> {
  try {
    await writeAll(Deno.stdout, bytes);
  } catch (error) {
    // Whoever reads has seen enough: `machine logs -f PART | head`.
    if (error instanceof Deno.errors.BrokenPipe) Deno.exit(0);
    throw error;
  }
}

function fail(error: unknown): number {
  const message = toError(error).message;
  Deno.stderr.writeSync(new TextEncoder().encode(`${PROGRAM}: ${message}\n`));
  return exitCodeOf(error);
}

if (import.meta.main) {
  trustSystemCertificates((text) => {
    Deno.stderr.writeSync(new TextEncoder().encode(`${PROGRAM}: ${text}\n`));
  });
  Deno.exit(await main(Deno.args).then(() => 0, fail));
}
