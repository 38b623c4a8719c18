import assert from "node:assert/strict";
import { join } from "node:path";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { KeyFileError } from "../keys/key_file.ts";
import { systemRandom } from "../keys/random.ts";
import { openDataFolder } from "./data_folder.ts";

Deno.test({
  name: "a second data folder opens a PostgreSQL with the key of the first one only",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using server = await PostgresServer.start();
    const root = await Deno.makeTempDir({ prefix: "machine-cloud-test-" });
    const [first, second] = [join(root, "first"), join(root, "second")];
    const open = async (path: string) => {
      const { database } = await openDataFolder(path, systemRandom, server.address("pool=2"));
      await database.close();
    };
    try {
      await open(first);
      const refused = {
        name: KeyFileError.name,
        message: /copy the cloud\.key of the first one, or of a backup, to .*second.cloud\.key$/,
      };
      await assert.rejects(open(second), refused);
      await Deno.copyFile(join(first, "cloud.key"), join(second, "cloud.key"));
      await open(second);
      const [kept, other] = [first, join(root, "third")].map((path) => join(path, "cloud.key"));
      await assert.rejects(open(join(root, "third")), KeyFileError);
      const { token_key } = JSON.parse(await Deno.readTextFile(other!));
      const keys = { ...JSON.parse(await Deno.readTextFile(kept!)), token_key };
      await Deno.writeTextFile(join(second, "cloud.key"), JSON.stringify(keys));
      await assert.rejects(open(second), refused);
      await open(first);
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});
