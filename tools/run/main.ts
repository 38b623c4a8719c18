import process from "node:process";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { toError } from "../../shared/base/errors/to_error.ts";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { openBrowser } from "../../shared/base/process/open_browser.ts";
import { Demo, OWNER } from "./demo.ts";
import { renderGuide } from "./guide.ts";
import {
  parseRunOptions,
  programPath,
  RUN_HELP,
  type RunOptions,
  RunUsageError,
} from "./options.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PYTHON_INSTALLER = fileURLToPath(new URL("../python_sdk.sh", import.meta.url));
const REQUIREMENTS = new URL("../python_sdk_requirements.txt", import.meta.url);

async function main(): Promise<number> {
  let options: RunOptions;
  try {
    options = parseRunOptions(Deno.args, Deno.env, ROOT);
  } catch (error) {
    if (!(error instanceof RunUsageError)) throw error;
    process.stderr.write(`make run: ${error.message}\n`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(RUN_HELP);
    return 0;
  }
  return await run(options);
}

async function run(options: RunOptions): Promise<number> {
  const demo = new Demo(options, ROOT, systemProcesses());
  const interrupted = waitForSignal(() => void demo.kill());
  try {
    return await Promise.race([interrupted.then(() => 0), work(demo, options)]);
  } catch (error) {
    process.stderr.write(`make run: ${toError(error).message}\n`);
    return 1;
  } finally {
    await demo.stop();
  }
}

async function work(demo: Demo, options: RunOptions): Promise<number> {
  const report = (line: string) => void process.stderr.write(`${line}\n`);
  const bootstrapped = await demo.start(report);
  if (!options.check) void demo.addModule(bootstrapped, report);
  const reading = await demo.waitForReading(bootstrapped);
  if (options.check) {
    process.stdout.write(`${JSON.stringify(reading)}\n`);
    return 0;
  }
  const requirements = await Deno.readTextFile(REQUIREMENTS);
  const signInUrl = bootstrapped.owner_sign_in_url;
  const place = {
    os: Deno.build.os,
    env: (name: string) => Deno.env.get(name),
    isTerminal: Deno.stdout.isTerminal(),
  };
  const isOpened = await openBrowser(place, signInUrl);
  const program = relative(Deno.cwd(), programPath("machine-cloud", options, ROOT));
  process.stdout.write(renderGuide({
    ...{ signInUrl, isOpened },
    signInCommand: `${program} sign-in-link ${OWNER} --data ${relative(Deno.cwd(), demo.cloudDir)}`,
    cloudUrl: demo.cloudUrl,
    serverUrl: demo.serverUrl,
    apiKeyId: bootstrapped.api_key_id,
    apiKey: bootstrapped.api_key,
    partId: bootstrapped.part_id,
    logDir: demo.logDir,
    pythonInstaller: PYTHON_INSTALLER,
    pythonSdkVersion: /^viam-sdk==(\S+)/m.exec(requirements)?.[1] ?? "",
  }));
  throw await demo.partEnded();
}

/** Resolves at the first request to end; `again` is called at every further one. */
function waitForSignal(again: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = false;
  const ask = () => {
    if (asked) again();
    else process.stderr.write("\nEnding everything …\n");
    asked = true;
    resolve();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, ask);
  return promise;
}

process.exit(await main());
