import assert from "node:assert/strict";
import { join } from "node:path";
import { FolderBlobStore } from "./folder_blob_store.ts";
import { MovedBlobStore } from "./moved_blob_store.ts";

Deno.test("MovedBlobStore reads what came last, also under the id of what the older one has", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const current = await FolderBlobStore.open(join(folder, "current"));
    const older = await FolderBlobStore.open(join(folder, "older"));
    const moved = new MovedBlobStore(current, older);
    const text = (text: string) => new Blob([text]).stream();
    const [id, other] = [crypto.randomUUID(), crypto.randomUUID()];
    for (const one of [id, other]) await older.receive(one, text("of a killed attempt"), 100);
    await moved.receive(id, text("whole"), 100);
    const read = async (id: string) => await new Response((await moved.read(id))?.readable).text();
    assert.equal(await read(id), "whole");
    assert.equal(await read(other), "of a killed attempt");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
