/** The compiled command line for people, at a compiled cloud. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { waitFor } from "../../shared/base/time/wait_for.ts";

const LIMIT_MS = 180_000;

/** Runs a binary to its end and gives back what it printed. */
async function run(
  binary: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(binary, {
    ...{ args, env, stdin: "null", signal: AbortSignal.timeout(LIMIT_MS) },
  }).output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, decoder.decode(stderr));
  return decoder.decode(stdout);
}

/** Asks `machine` for help, signs it in by API key, and lists the machines of the cloud. */
export async function signInFromBinary(
  machine: string,
  cloud: string,
  dir: string,
): Promise<void> {
  assert.match(await run(machine, ["--help"]), /login/);
  const data = join(dir, "cloud");
  const made = JSON.parse(
    await run(cloud, [
      ...["bootstrap", "--data", data, "--org", "Acme", "--location", "l", "--machine", "m"],
    ]),
  );
  const serving = new Deno.Command(cloud, {
    args: ["serve", "--listen", "127.0.0.1:0", "--data", data],
    ...{ stdin: "null", stdout: "piped", stderr: "inherit" },
  }).spawn();
  const limit = setTimeout(() => serving.kill("SIGKILL"), LIMIT_MS);
  let output = "";
  const reading = (async () => {
    for await (const chunk of serving.stdout) output += new TextDecoder().decode(chunk);
  })();
  const address = () => /serving\s+\{"url":"([^"]+)"/.exec(output)?.[1];
  try {
    await waitFor(() => address() !== undefined, {
      deadlineMs: LIMIT_MS,
      what: "a cloud that serves",
    });
    const env = {
      MACHINE_CONFIG_DIR: join(dir, "settings"),
      MACHINE_CLOUD_API_KEY_ID: made.api_key_id,
      MACHINE_CLOUD_API_KEY: made.api_key,
    };
    assert.match(await run(machine, ["login", "--cloud", address() ?? ""], env), /\(Acme\)/);
    assert.equal(
      await run(machine, ["machines", "list", "--quiet"], env),
      `${made.machine_id}\n`,
    );
  } finally {
    serving.kill("SIGTERM");
    await serving.status;
    await reading;
    clearTimeout(limit);
  }
}
