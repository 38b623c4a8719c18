import assert from "node:assert/strict";
import { makeMemoryFolder, processNamespace, removeMemoryFolder } from "./memory_folder.ts";

Deno.test("makeMemoryFolder() removes what a killed run left, not what runs", async () => {
  if (Deno.build.os !== "linux") return;
  // No process has a number above 2^22.
  const killed = `/dev/shm/mt-${processNamespace()}-4194305`;
  const elsewhere = "/dev/shm/mt-other-4194305";
  const isMade = await Deno.mkdir(`${killed}/x`, { recursive: true }).then(() => true, () => false);
  if (isMade) await Deno.mkdir(elsewhere, { recursive: true });
  const folder = await makeMemoryFolder();
  if (folder === undefined) {
    if (isMade) await Deno.remove(killed, { recursive: true });
    if (isMade) await Deno.remove(elsewhere);
    return;
  }
  try {
    assert.equal((await Deno.stat(folder)).mode! & 0o1777, 0o1777);
    await assert.rejects(Deno.stat(killed), Deno.errors.NotFound);
    await Deno.remove(elsewhere); // That of another container is still there.
    assert.equal(await makeMemoryFolder(), undefined, "it is taken");
    await Deno.stat(folder);
  } finally {
    await removeMemoryFolder(folder);
  }
});
