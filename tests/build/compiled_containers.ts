/** The container images of compiled programs, run as docs/containers.md says. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { toError } from "../../shared/base/errors/to_error.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import type { Bootstrapped } from "../../tools/run/demo.ts";
import type { Compiled } from "../../tools/compile/compile_all.ts";
import { buildImages, noImagesBecause } from "../../tools/release/images/build.ts";
import { USER_ID } from "../../tools/release/images/debian_root.ts";
import { IMAGES } from "../../tools/release/images/images.ts";
import { DEADLINE_MS, untilOnline } from "./compiled_cloud.ts";
import { ROOT } from "../../tools/programs.ts";
import { Podman } from "./podman.ts";

const VERSION = "0.0.0-test";

type Program = Pick<Compiled, "program" | "target" | "file">;

/**
 * Makes images, starts a cloud and a machine of them with a read-only root, and waits until the
 * machine is online.
 *
 * @returns why it cannot be tried here; undefined when it was
 */
export async function runImages(made: readonly Program[]): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return "containers are for Linux";
  // Not where temporary files are kept in memory.
  const dir = await Deno.makeTempDir({ dir: join(ROOT, ".tools"), prefix: "containers-" });
  try {
    const place = join(dir, "podman");
    await Deno.mkdir(place);
    await using podman = await Podman.create(place);
    const reason = await podman.cannotRun() ?? await noImagesBecause();
    return reason ?? await startImages(made, podman, dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function startImages(
  made: readonly Program[],
  podman: Podman,
  dir: string,
): Promise<string | undefined> {
  let files: string[];
  try {
    files = await buildImages(made, { version: VERSION, commit: "abc1234", time: new Date(0) });
  } catch (error) {
    const { message } = toError(error);
    // No network, or Debian has another version now: what is skipped names `make images PIN=1`.
    if (message.startsWith("apt-get")) return message;
    throw error;
  }
  for (const file of files) {
    if (!file.includes("machine-training")) await podman.must("load", "--input", file);
    await Deno.remove(file);
  }
  const folder = async (name: string): Promise<string> => {
    const path = join(dir, name);
    await Deno.mkdir(path);
    await Deno.chown(path, USER_ID, USER_ID);
    return path;
  };
  const [data, home, credentials] = [
    await folder("cloud"),
    await folder("server"),
    await folder("credentials"),
  ];
  const [port, serverPort] = [freePort(1), freePort(2)];
  const url = `http://127.0.0.1:${port}`;
  const config = join(dir, "machine-configuration.json");
  const network = { bind_address: `127.0.0.1:${serverPort}` };
  await Deno.writeTextFile(config, JSON.stringify({ network }));
  await Deno.chmod(config, 0o644);
  const bootstrapped = await podman.once(
    { "/data": data, "/credentials": credentials, "/configuration.json": config },
    ...[imageOf("machine-cloud"), "bootstrap", "--data", "/data", "--org", "o", "--location", "l"],
    ...["--machine", "m", "--config", "/configuration.json", "--public-url", url],
    ...["--credentials-out", "/credentials/machine.json"],
  );

  const cloud = podman.start(
    "cloud",
    { "/data": data },
    ...[imageOf("machine-cloud"), "serve", "--listen", `127.0.0.1:${port}`, "--training-jobs", "0"],
  );
  await waitFor(async () => {
    if (cloud.hasExited) throw cloud.endedError();
    return await fetch(`${url}/readyz`).then((answer) => answer.ok, () => false);
  }, { deadlineMs: DEADLINE_MS, what: "a cloud that serves in a container" });
  await podman.enter("cloud", ...healthOf("machine-cloud"), "--url", url);
  await checkLockedUp(podman, "cloud");

  podman.start(
    "server",
    { "/data": home, "/credentials": credentials },
    ...["--env", `MACHINE_PORT=${serverPort}`, imageOf("machine-server")],
    ...["-config", "/credentials/machine.json", "-allow-insecure-creds"],
  );
  await untilOnline(url, JSON.parse(bootstrapped) as Bootstrapped);
  await podman.enter("server", ...healthOf("machine-server"));
  await checkLockedUp(podman, "server");

  await cloud.stop(DEADLINE_MS);
  assert.equal(cloud.exit?.code, 0, "TERM ends a cloud in order");
  return undefined;
}

const imageOf = (name: string): string => `localhost/${name}:${VERSION}`;

/** What engines of containers ask the program by. */
function healthOf(name: string): readonly string[] {
  const [kind, ...command] = IMAGES.find((each) => each.name === name)?.config.Healthcheck?.Test ??
    [];
  assert.equal(kind, "CMD");
  return command;
}

/** Its process is nobody special here, may do nothing, and has a root that it cannot write. */
async function checkLockedUp(podman: Podman, name: string): Promise<void> {
  const pid = await podman.pidOf(name);
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  assert.match(status, new RegExp(`^Uid:\\t${USER_ID}\\t${USER_ID}\\t`, "m"));
  assert.match(status, /^CapEff:\t0+$/m);
  assert.match(status, /^NoNewPrivs:\t1$/m);
  const mounts = await Deno.readTextFile(`/proc/${pid}/mountinfo`);
  assert.match(mounts, /^\d+ \d+ \S+ \S+ \/ ro\b/m);
}
