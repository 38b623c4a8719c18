/** A release, served as files, on a computer that has nothing but curl and systemd. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { writeRelease } from "../../tools/release/download_folder.ts";
import { SigningKey } from "../../tools/release/signing_key.ts";
import { secretKeyFile } from "../../tools/release/testing.ts";
import { ROOT } from "../../tools/programs.ts";
import { SystemdComputer } from "../e2e/systemd_computer.ts";
import { CompiledCloud, DEADLINE_MS, untilOnline } from "./compiled_cloud.ts";

/**
 * Runs the lines of the README: install.sh out of the folder, which brings the agent out of the
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

  await using cloud = await CompiledCloud.bootstrap(binaryOf("machine-cloud"), dir, {});
  const { data, made } = cloud;
  await cloud.run("release", "sync", "--data", data, "--key", join(folder, "release-key.pub"), url);
  await cloud.serve();
  await using computer = await SystemdComputer.create();
  await computer.boot();
  const said = await computer.ask(await linesOfReadme(url, cloud), {
    MACHINE_DOWNLOAD_URL: url,
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
  await untilOnline(cloud.url, made);
}

/** What README.md has under "Install", with addresses and key of this test. */
async function linesOfReadme(downloads: string, { url, made }: CompiledCloud): Promise<string> {
  const readme = await Deno.readTextFile(join(ROOT, "README.md"));
  const lines = /\n## Install\n[^#]*?```sh\n([^`]+)```/.exec(readme)?.[1];
  assert.ok(lines, "README.md has no shell lines under Install");
  const facts = [
    ["https://CLOUD/install.sh", `${downloads}/install.sh`],
    ["MACHINE_CLOUD_ADDRESS=https://CLOUD", `MACHINE_CLOUD_ADDRESS=${url}`],
    ["MACHINE_API_KEY_ID=…", `MACHINE_API_KEY_ID=${made.api_key_id}`],
    ["MACHINE_API_KEY=…", `MACHINE_API_KEY=${made.api_key}`],
    ["MACHINE_PART_ID=…", `MACHINE_PART_ID=${made.part_id}`],
  ] as const;
  return facts.reduce((text, [place, value]) => {
    assert.equal(text.split(place).length, 2, `README.md has ${place} once under Install`);
    return text.replace(place, value);
  }, `set -e\n${lines}`);
}

async function release(folder: string, binaryOf: (program: string) => string): Promise<void> {
  const programs = ["machine-agent", "machine-server"].map((program) => (
    { program, platform: "linux/amd64", file: binaryOf(program) }
  ));
  const key = SigningKey.read(secretKeyFile(), undefined);
  const date = new Date().toISOString().slice(0, 10);
  const facts = { version: "0.9.0", date, commit: "abc1234", notes: "New." };
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
