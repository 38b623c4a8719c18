import assert from "node:assert/strict";
import { join } from "node:path";
import { FileError } from "../../shared/base/files/fs_error.ts";
import { InstanceLock, LockedError } from "./instance_lock.ts";

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("take() refuses a second holder and names the first", () =>
  withFolder((folder) => {
    const path = join(folder, "agent.lock");
    const lock = InstanceLock.take(path);
    assert.throws(() => InstanceLock.take(path), (error) =>
      error instanceof LockedError && error.message.includes(`process ${Deno.pid}`) &&
      error.message.includes(path) && error.message.includes("--dir"));
    lock.release();
    InstanceLock.take(path).release();
    return Promise.resolve();
  }));

Deno.test("take() succeeds when the holder was killed, whoever has its number now", () =>
  withFolder(async (folder) => {
    const path = join(folder, "agent.lock");
    const module = new URL("./instance_lock.ts", import.meta.url).href;
    const script = `const { InstanceLock } = await import(${JSON.stringify(module)});` +
      `globalThis.lock = InstanceLock.take(${JSON.stringify(path)});` +
      `console.log("locked"); setInterval(() => {}, 1000);`;
    const holder = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-check", script],
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const output = holder.stdout.getReader();
    await output.read();
    assert.throws(() => InstanceLock.take(path), LockedError);
    holder.kill("SIGKILL");
    await holder.status;
    await output.cancel();
    // Our own number in the file: a check by number alone would find a living process.
    await Deno.writeTextFile(path, `${Deno.pid}\n`);
    InstanceLock.take(path).release();
  }));

Deno.test({
  name: "take() lets nobody else open the file, who could lock it",
  ignore: Deno.build.os === "windows",
  fn: () =>
    withFolder(async (folder) => {
      const path = join(folder, "agent.lock");
      await Deno.writeTextFile(path, "1\n", { mode: 0o644 });
      const lock = InstanceLock.take(path);
      assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
      lock.release();
    }),
});

Deno.test("take() says what is wrong when the file cannot be made", () =>
  withFolder((folder) => {
    assert.throws(
      () => InstanceLock.take(join(folder, "missing", "agent.lock")),
      (error) => error instanceof FileError && /cannot lock .*agent\.lock/.test(error.message),
    );
    return Promise.resolve();
  }));
