/** A cloud's database that is slow, full, read-only, has no connection left, or fails over. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { toCallFailure } from "../../cloud/storage/database/call_failures.ts";
import type { Queries } from "../../cloud/storage/database/cloud_database.ts";
import { readSetting, writeSetting } from "../../cloud/storage/database/settings.ts";
import { parsePostgresAddress } from "../../cloud/storage/postgres/address.ts";
import { PostgresDatabase } from "../../cloud/storage/postgres/postgres_database.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { PostgresServer } from "../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { noSmallDisks, withSmallDisk } from "../../shared/test_tools/small_disk.ts";
import { TcpProxy } from "./tcp_proxy.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
const DEADLINE = { deadlineMs: 90_000 };

/** A cloud's tables, as a process of it uses them. */
class Cloud implements AsyncDisposable {
  #last = 0;
  /** Number of the newest change that was acknowledged. */
  saved = 0;

  private constructor(readonly database: PostgresDatabase) {}

  static async open(address: string): Promise<Cloud> {
    return new Cloud(await PostgresDatabase.open(parsePostgresAddress(address, "/data")));
  }

  /**
   * @param isUpload as uploads are saved, which wait for the disk together
   * @returns what the caller sees that wants to change something; undefined: it was saved
   */
  async refusal(text = "", isUpload = false): Promise<ConnectError | undefined> {
    const number = ++this.#last;
    try {
      const save = async (transaction: Queries) =>
        await writeSetting(transaction, "domain", `${number} ${text}`);
      if (isUpload) await this.database.sharedTransaction(save);
      else await this.database.queries.transaction().execute(save);
      this.saved = number;
      return undefined;
    } catch (error) {
      return seen(error);
    }
  }

  /** @returns number of the newest change that is there */
  async read(): Promise<number> {
    return parseInt(await readSetting(this.database.queries, "domain") ?? "");
  }

  async saves(): Promise<void> {
    await waitFor(async () => await this.refusal() === undefined, DEADLINE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.close();
  }
}

/** What callers see of an error; none of them is a fault of the cloud. */
function seen(error: unknown): ConnectError {
  const failure = toCallFailure(error);
  assert.ok(failure instanceof ConnectError, String(error));
  return failure;
}

Deno.test({
  name: "a write that waits too long for PostgreSQL fails and can be repeated, and others read",
  ignore,
  async fn() {
    await using server = await PostgresServer.start();
    await using cloud = await Cloud.open(server.address("statement_timeout=1000"));
    await cloud.saves();
    // The server is slow to give the row, as with a disk that stands still.
    const holding = server.query(
      "begin; lock machine_cloud.settings in exclusive mode; " +
        "select pg_sleep(600)",
    ).catch(() => undefined);
    await waitFor(async () => await cloud.refusal() !== undefined, DEADLINE);
    const refused = await cloud.refusal();
    assert.equal(refused?.code, Code.Unavailable);
    assert.match(refused.message, /busy; nothing was saved. Try again/);
    assert.ok(await cloud.read());
    await server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity " +
        "where query like '%pg_sleep(600)%' and pid <> pg_backend_pid()",
    );
    await holding;
    await cloud.saves();
  },
});

Deno.test({
  name: "a write that cannot even begin leaves no connection in its transaction",
  ignore,
  async fn() {
    await using server = await PostgresServer.start();
    await using cloud = await Cloud.open(server.address("statement_timeout=1000", "pool=2"));
    await cloud.saves();
    // Each write looks there first, behind its `begin`.
    const holding = server.query(
      "begin; lock machine_cloud.settings in access exclusive mode; select pg_sleep(600)",
    ).catch(() => undefined);
    await waitFor(async () => await cloud.refusal() !== undefined, DEADLINE);
    for (let again = 0; again < 3; again++) {
      assert.equal((await cloud.refusal())?.code, Code.Unavailable);
    }
    await server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity " +
        "where query like '%pg_sleep(600)%' and pid <> pg_backend_pid()",
    );
    await holding;
    const left = "select count(*) from pg_stat_activity where state like 'idle in transaction%'";
    assert.equal(await server.query(left), "0");
    assert.ok(await cloud.read());
    await cloud.saves();
  },
});

Deno.test({
  name: "writes are refused while the disk of PostgreSQL is full, and go on afterwards",
  ignore: ignore || noSmallDisks(import.meta.url),
  async fn() {
    await using server = await PostgresServer.start();
    await using cloud = await Cloud.open(server.address());
    await cloud.saves();
    // On the server's own disk, as it must reach there.
    const { uid, gid } = await Deno.stat(server.folder);
    const folder = join(server.folder, "small");
    await Deno.mkdir(folder);
    await withSmallDisk(folder, 2_048, async () => {
      await Deno.chown(folder, uid, gid);
      await server.query(`create tablespace small location '${folder}'`);
      await server.query("alter table machine_cloud.settings set tablespace small");
      // Random text, which is not packed.
      const text = Array.from({ length: 40_000 }, () => Math.random().toString(36)).join("");
      let refused: ConnectError | undefined;
      for (let n = 0; n < 20 && !refused; n++) refused = await cloud.refusal(text);
      assert.equal(refused?.code, Code.ResourceExhausted);
      assert.match(refused.message, /disk of the cloud's database is full; nothing was saved/);
      await server.query("alter table machine_cloud.settings set tablespace pg_default");
      await cloud.saves();
      await server.query("drop tablespace small");
    });
  },
});

Deno.test({
  name: "writes are refused while PostgreSQL takes no changes, and go on afterwards",
  ignore,
  async fn() {
    await using server = await PostgresServer.start();
    await using cloud = await Cloud.open(server.address());
    await cloud.saves();
    const readOnly = async (setting: "on" | "off") => {
      await server.query(`alter system set default_transaction_read_only = ${setting}`);
      await server.query("select pg_reload_conf()");
    };
    await readOnly("on");
    await waitFor(async () => await cloud.refusal() !== undefined, DEADLINE);
    const refused = await cloud.refusal();
    assert.equal(refused?.code, Code.Unavailable);
    assert.match(refused.message, /takes no changes at present; nothing was saved/);
    assert.ok(await cloud.read());
    await readOnly("off");
    await cloud.saves();
  },
});

Deno.test({
  name: "calls fail while PostgreSQL has no connection left, and go on afterwards",
  ignore,
  async fn() {
    await using server = await PostgresServer.start(["max_connections = 10"]);
    await using cloud = await Cloud.open(server.address());
    {
      await using others = new AsyncDisposableStack();
      const { default: pg } = await import("pg");
      const taken = async () => {
        const client = new pg.Client({ connectionString: server.address() });
        client.on("error", () => undefined); // it is closed with the server
        await client.connect();
        others.defer(() => client.end());
      };
      await assert.rejects(async () => {
        for (;;) await taken();
      }, /too many clients/);
      const refused = await cloud.refusal();
      assert.equal(refused?.code, Code.Unavailable);
      assert.match(refused.message, /Try again/);
    }
    await cloud.saves();
  },
});

Deno.test({
  name: "a cloud goes on with the standby of a server that died, and has all that was saved",
  ignore,
  async fn() {
    await using first = await PostgresServer.start();
    await using standby = await first.standby();
    await using before = await TcpProxy.start(first.port);
    const address = first.address().replace(`:${first.port}/`, `:${before.port}/`);
    await using cloud = await Cloud.open(address);
    const over = new AbortController();
    const saving = (async () => {
      while (!over.signal.aborted) await cloud.refusal();
    })();
    await waitFor(() => cloud.saved > 20, DEADLINE);
    await first.halt("immediate");
    before.reset();
    await waitFor(async () => (await cloud.refusal())?.code === Code.Unavailable, DEADLINE);
    const { saved } = cloud;
    before.targetPort = standby.port;
    const isRefused = async () => (await cloud.refusal())?.message.includes("takes no changes");
    await waitFor(async () => await isRefused() === true, DEADLINE);
    assert.ok(await cloud.read() >= saved, "a change that was acknowledged is lost");
    assert.equal(cloud.saved, saved, "a standby takes none");
    await standby.promote();
    await waitFor(() => cloud.saved > saved, DEADLINE);
    over.abort();
    await saving;
    assert.equal(await cloud.read(), cloud.saved);
  },
});

Deno.test({
  name: "what is saved while PostgreSQL is killed, stopped and demoted can be repeated or is there",
  ignore,
  async fn() {
    await using server = await PostgresServer.start();
    await using cloud = await Cloud.open(server.address());
    await cloud.saves();
    const codes = new Set<Code>();
    const over = new AbortController();
    using _end = { [Symbol.dispose]: () => over.abort() };
    const repeat = async (work: () => Promise<ConnectError | undefined>) => {
      while (!over.signal.aborted) {
        const refused = await work();
        if (refused) codes.add(refused.code);
      }
    };
    const statements = cloud.database.direct();
    let isUpload = false;
    const running = Promise.all([
      repeat(() => cloud.refusal("", isUpload = !isUpload)),
      repeat(() => cloud.read().then(() => undefined, seen)),
      repeat(() => statements.settle().then(() => undefined, seen)),
    ]);
    const again = () => server.resume().then(() => true, () => false);
    const disturb = [
      async () => {
        await server.kill();
        await waitFor(again, DEADLINE); // its processes have to be gone
      },
      async () => {
        await server.halt("fast");
        await server.resume();
      },
      async () => {
        await server.halt("immediate");
        await server.resume();
      },
      async () => {
        await server.demote();
        const refused = await statements.settle().then(() => undefined, seen);
        assert.equal(refused?.code, Code.Unavailable);
        await server.promote();
      },
    ];
    for (let turn = 0; turn < 20; turn++) {
      const { saved } = cloud;
      await waitFor(() => cloud.saved > saved + 4, DEADLINE);
      const acknowledged = cloud.saved;
      await disturb[turn % disturb.length]!();
      await waitFor(() => cloud.read().then(() => true, () => false), DEADLINE);
      assert.ok(await cloud.read() >= acknowledged, `turn ${turn}: an acknowledged change is lost`);
    }
    const { saved } = cloud;
    await waitFor(() => cloud.saved > saved, DEADLINE);
    over.abort();
    await running;
    assert.deepEqual([...codes], [Code.Unavailable]);
  },
});
