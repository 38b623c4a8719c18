/** A release, served as files, on a computer that has nothing but curl and systemd. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { writeRelease } from "../../tools/release/download_folder.ts";
import { SigningKey } from "../../tools/release/signing_key.ts";
import { secretKeyFile } from "../../tools/release/testing.ts";
import { ROOT } from "../../tools/programs.ts";
import { Program } from "../e2e/program.ts";
import { SystemdComputer } from "../e2e/systemd_computer.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";

const DEADLINE_MS = 300_000;

/**
 * Runs the line of the README: install.sh out of the folder, which brings the agent out of the
 * folder, which brings the server out of the cloud, which has it out of the folder. It ends with a
 * machine that is online.
 *
 * @param binaryOf path of a compiled program for this host
 */
export async function installFromRelease(
  binaryOf: (program: string) => string,
  dir: string,
): Promise<void> {
  const folder = join(dir, "downloads");
  await release(folder, binaryOf);
  await using downloads = serve(folder);
  const url = `http://127.0.0.1:${downloads.addr.port}`;

  const data = join(dir, "cloud");
  const cloud = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await new Deno.Command(binaryOf("machine-cloud"), { args })
      .output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assert.equal(code, 0, text(stdout) + text(stderr));
    return text(stdout);
  };
  const made = JSON.parse(
    await cloud("bootstrap", "--data", data, "--org", "o", "--location", "l", "--machine", "m"),
  ) as Record<string, string>;
  await cloud("release", "sync", "--data", data, "--key", join(folder, "release-key.pub"), url);
  const port = freePort(2);
  const serving = Program.start({
    name: "machine-cloud",
    command: binaryOf("machine-cloud"),
    args: ["serve", "--data", data, "--listen", `127.0.0.1:${port}`],
  });
  try {
    await waitFor(
      () => fetch(`http://127.0.0.1:${port}/readyz`).then((answer) => answer.ok, () => false),
      { deadlineMs: DEADLINE_MS, what: "a cloud that serves" },
    );
    await using computer = await SystemdComputer.create();
    await computer.boot();
    const said = await computer.ask(`curl -fsSL ${url}/install.sh -o install.sh && sh install.sh`, {
      MACHINE_CLOUD_ADDRESS: `http://127.0.0.1:${port}`,
      MACHINE_DOWNLOAD_URL: url,
      MACHINE_API_KEY_ID: made["api_key_id"]!,
      MACHINE_API_KEY: made["api_key"]!,
      MACHINE_PART_ID: made["part_id"]!,
      TMPDIR: "/tmp",
    });
    assert.match(said, /downloading machine-agent 0\.9\.0 for linux\/amd64[^]*the service runs/);
    let status = "";
    await waitFor(async () => {
      status = (await computer.run("/opt/machine/bin/machine-agent status")).stdout;
      return /machine-server\s+\S+, running/.test(status) && /connected for/.test(status);
    }, { deadlineMs: DEADLINE_MS, what: "a machine that is online" })
      .catch((error: Error) => {
        throw new Error(`${error.message}\n${status}`);
      });
  } finally {
    await serving.stop(10_000);
  }
}

async function release(folder: string, binaryOf: (program: string) => string): Promise<void> {
  const programs = ["machine-agent", "machine-server"].map((program) => (
    { program, platform: "linux/amd64", file: binaryOf(program) }
  ));
  const key = SigningKey.read(secretKeyFile(), undefined);
  const facts = { version: "0.9.0", date: "2026-01-31", commit: "abc1234", notes: "New." };
  const scripts = [join(ROOT, "install", "install.sh")];
  await writeRelease(folder, { ...facts, bill: "{}\n", packages: [], programs }, key, scripts);
}

function serve(folder: string) {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    try {
      return new Response((await Deno.open(join(folder, new URL(request.url).pathname))).readable);
    } catch {
      return new Response("no such file", { status: 404 });
    }
  });
}
