import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { CertificateAuthority } from "../../accounts/certificates/authority.ts";
import { sharedAuthority } from "../../accounts/certificates/shared_authority.ts";
import { openLogStore } from "../../fleet/logs/open_log_store.ts";
import { writeNotedAddress } from "../../storage/data_folder/database_choice.ts";
import { type DataFolder, openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { runOperationCommand } from "../operation_command.ts";

// Where all tests are given one database, it counts.
const ignore = ignoreWithout(import.meta.url, "postgresql") ||
  Deno.env.has("MACHINE_CLOUD_DATABASE");
const COPIED = { ...{ level: "info", logger: "l", host: "h", caller: null }, stack: null };

/** A cloud on PostgreSQL, with a folder for what is made of it. */
class Rig implements AsyncDisposable {
  readonly data: string;
  readonly file: string;
  authority = "";

  private constructor(readonly root: string, readonly server: PostgresServer) {
    this.data = join(root, "data");
    this.file = join(root, "b.tar");
  }

  static async open(): Promise<Rig> {
    const root = await Deno.makeTempDir({ prefix: "machine-backup-" });
    const rig = new Rig(root, await PostgresServer.start());
    await Deno.mkdir(rig.data);
    await writeNotedAddress(rig.data, rig.server.address());
    await rig.use(rig.data, async ({ database, keys }) => {
      await addPair(database, 0);
      const shared = sharedAuthority(database, keys.secrets);
      await CertificateAuthority.open(rig.data, { shared, now: new Date() });
      rig.authority = await shared?.read() ?? "";
      const logs = openLogStore(database, rig.data, systemClock);
      const line = { ...COPIED, timeNs: 1n, digest: 1, message: "hello", fields: null };
      await logs.append("part", [line]);
      await logs.close();
    });
    await Deno.mkdir(join(rig.data, "releases"));
    await Deno.writeTextFile(join(rig.data, "releases", "a"), "the release");
    return rig;
  }

  async use(data: string, work: (folder: DataFolder) => Promise<void>): Promise<void> {
    const folder = await openDataFolder(data, systemRandom);
    try {
      await work(folder);
    } finally {
      await folder.database.close();
    }
  }

  async backUp(): Promise<void> {
    await this.run("backup", { data: this.data });
  }

  async restore(data: string, database?: string): Promise<void> {
    await this.run("restore", { data, database });
  }

  async run(
    command: "backup" | "restore",
    values: { data: string; database?: string | undefined },
  ) {
    const parsed = { command, values: { ...values, json: true }, arguments: [this.file] };
    const given = new Set(["data"] as const);
    const { code } = await runOperationCommand(
      { ...parsed, given } as unknown as Parameters<typeof runOperationCommand>[0],
      { clock: systemClock, warn: () => {} },
    );
    assert.equal(code, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await Deno.remove(this.root, { recursive: true });
  }
}

/** Two rows that are there together or not at all. */
async function addPair({ queries }: DataFolder["database"], at: number): Promise<void> {
  const created_at = at + 1;
  await queries.transaction().execute(async (transaction) => {
    await transaction.insertInto("organizations").values({ id: `o${at}`, name: "Ø", created_at })
      .execute();
    const location = { id: `l${at}`, org_id: `o${at}`, name: "Lab", created_at };
    await transaction.insertInto("locations").values(location).execute();
  });
}

async function pairs({ queries }: DataFolder["database"]): Promise<number> {
  const organizations = await queries.selectFrom("organizations").select("id").execute();
  const locations = await queries.selectFrom("locations").select("org_id").execute();
  assert.equal(organizations.length, locations.length, "it is of one moment");
  return organizations.length;
}

Deno.test({
  name: "a cloud on PostgreSQL is backed up while others write, and restored on either engine",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    await rig.use(rig.data, async ({ database }) => {
      let isOver = false;
      const writing = (async () => {
        for (let at = 1; !isOver; at++) await addPair(database, at);
      })();
      try {
        await rig.backUp();
      } finally {
        isOver = true;
        await writing;
      }
    });

    const restored = join(rig.root, "sqlite");
    await rig.restore(restored);
    let count = 0;
    await rig.use(restored, async ({ database }) => {
      assert.equal(database.engine, "sqlite");
      count = await pairs(database);
      const logs = openLogStore(database, restored, systemClock);
      const { lines } = await logs.read("part", { filter: {}, limit: 10 });
      await logs.close();
      assert.deepEqual(lines.map(({ message }) => message), ["hello"]);
    });
    assert.equal(await Deno.readTextFile(join(restored, "ca.pem")), rig.authority);
    assert.equal(await Deno.readTextFile(join(restored, "releases", "a")), "the release");

    const other = join(rig.root, "other");
    await assert.rejects(rig.restore(other, rig.server.address()), /has tables\. Name another/);
    assert.ok(!existsSync(other), "nothing was restored");
    await rig.restore(other, rig.server.address("schema=again"));
    await rig.use(other, async ({ database }) => {
      assert.equal(database.engine, "postgres");
      assert.equal(await pairs(database), count);
    });
    const names = (await Array.fromAsync(Deno.readDir(rig.root))).map(({ name }) => name).sort();
    assert.deepEqual(names, ["b.tar", "data", "other", "sqlite"]);
    assert.ok(!existsSync(join(other, "cloud.db.moved")));
  },
});

Deno.test({
  name: "backup names what is wrong with a database on PostgreSQL",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    await rig.server.query("insert into machine_cloud.schema_migrations values (999, 'x', now())");
    await assert.rejects(rig.backUp(), /schema 999, this program knows/);
    await rig.server.query("delete from machine_cloud.schema_migrations where version = 999");
    const moved = "insert into machine_cloud.settings (name, value) values ('moved_to', '/home')";
    await rig.server.query(moved);
    await assert.rejects(rig.backUp(), /were moved to \/home/);
    await rig.server.query("delete from machine_cloud.settings where name = 'moved_to'");
    await Deno.remove(join(rig.data, "cloud.key"));
    await Deno.writeTextFile(join(rig.data, "cloud.key"), "");
    await assert.rejects(rig.backUp(), /cloud\.key/);
    await rig.server.halt();
    await assert.rejects(rig.backUp(), /cannot reach|cannot connect|refused/i);
    assert.ok(!existsSync(rig.file));
  },
});
