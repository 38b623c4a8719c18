import assert from "node:assert/strict";
import { join } from "node:path";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { CertificateAuthority } from "../../accounts/certificates/authority.ts";
import { SqliteLogStore } from "../../fleet/logs/sqlite_log_store.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { SteadyTime } from "../../storage/steady_time/steady_time.ts";
import { FakeMailServer } from "../../triggers/mail/fake_mail_server.ts";
import type { Finding } from "./check.ts";
import type { ArchivedFiles } from "../../storage/postgres/inspect.ts";
import { checkArchive } from "./archive_checks.ts";
import { examine, renderFindings } from "./doctor.ts";
import { checkFolder } from "./folder_checks.ts";
import { checkTls } from "./network_checks.ts";

async function withFolder(work: (data: string) => Promise<void>) {
  const data = await Deno.makeTempDir({ prefix: "machine-doctor-" });
  try {
    (await openDataFolder(data, systemRandom)).database.close();
    SqliteLogStore.open(data, systemClock).close();
    await work(data);
  } finally {
    await Deno.remove(data, { recursive: true });
  }
}

function wrong(findings: readonly Finding[], check: string): string | undefined {
  const finding = findings.find((each) => each.check === check && each.state !== "ok");
  return finding && `${finding.state}: ${finding.detail} → ${finding.advice}`;
}

Deno.test("examine() finds nothing wrong with a good folder", () =>
  withFolder(async (dataDir) => {
    const findings = await examine({ dataDir }, systemClock);
    const others = findings.filter(({ check }) => check !== "disk" && check !== "smtp");
    assert.deepEqual(others.filter(({ state }) => state !== "ok"), []);
    assert.match(renderFindings(findings), /^ok {7}database +cloud\.db is whole, schema \d+$/m);
  }));

Deno.test("examine() says what to do about each fault", () =>
  withFolder(async (dataDir) => {
    const faults: [string, string, () => Promise<unknown>, RegExp][] = [
      ["a key for all", "keys", () => Deno.chmod(join(dataDir, "cloud.key"), 0o644), /chmod 600/],
      [
        "another key",
        "keys",
        async () => {
          const other = await Deno.makeTempDir();
          (await openDataFolder(other, systemRandom)).database.close();
          await Deno.copyFile(join(other, "cloud.key"), join(dataDir, "cloud.key"));
          await Deno.chmod(join(dataDir, "cloud.key"), 0o600);
          await Deno.remove(other, { recursive: true });
        },
        /not the one .* put the cloud\.key back/,
      ],
      ["no key", "keys", () => Deno.remove(join(dataDir, "cloud.key")), /missing .*backup/],
      [
        "a damaged database",
        "database",
        () => Deno.writeFile(join(dataDir, "logs.db"), new Uint8Array(9_000).fill(7)),
        /logs\.db is damaged: .*restore the last backup/,
      ],
      [
        "a cut restore",
        "folder",
        () => Deno.writeTextFile(join(dataDir, "restore-unfinished"), ""),
        /restore FILE/,
      ],
      ["no database", "folder", () => Deno.remove(join(dataDir, "cloud.db")), /no cloud\.db/],
    ];
    for (const [name, check, make, expected] of faults) {
      await make();
      assert.match(wrong(await examine({ dataDir }, systemClock), check) ?? "", expected, name);
    }
  }));

Deno.test("checkArchive() names no file that was removed while it looked", () =>
  withFolder(async (dataDir) => {
    const files = ["a", "b", "c"].map((id) => ({ id, size: 9 }));
    const archived = { files, count: 3 };
    const found = async (again: () => ArchivedFiles) => {
      const check = { dataDir, archived, again, objectStorage: undefined };
      return wrong(await checkArchive(check, systemClock), "old readings");
    };
    const rest = files.slice(1);
    assert.match(await found(() => archived) ?? "", /: 3 of 3 files .*: a is missing, b is/);
    assert.match(await found(() => ({ files: rest, count: 2 })) ?? "", /: 2 of 3 files .*: b is/);
    assert.equal(await found(() => ({ files: [], count: 0 })), undefined);
    // It has more than were read.
    const part = { files: rest.slice(0, 1), count: 2 };
    assert.match(await found(() => part) ?? "", /: 2 of 3 files .*: b is missing, c is missing/);
    const unreadable = () => {
      throw new Error("unreadable");
    };
    assert.match(await found(unreadable) ?? "", /: 3 of 3 files/);
  }));

Deno.test("examine() names files of old readings that are lost or cut", () =>
  withFolder(async (dataDir) => {
    const database = SqliteDatabase.open(dataDir);
    const ids = Array.from({ length: 8 }, () => crypto.randomUUID()).sort();
    await Deno.mkdir(join(dataDir, "data-archive"), { recursive: true });
    for (const id of ids) {
      await database.queries.insertInto("archived_files").values({
        ...{ id, org_id: "org", part_id: "p", day: 0, readings: 1, reading_bytes: 1 },
        ...{ size: 9, sha256: "", min_synced_at: 1, max_synced_at: 1 },
      }).execute();
      await Deno.writeFile(join(dataDir, "data-archive", id), new Uint8Array(9));
    }
    const found = async () => wrong(await examine({ dataDir }, systemClock), "old readings");
    assert.equal(await found(), undefined);
    assert.match(
      renderFindings(await examine({ dataDir }, systemClock)),
      /^ok +old readings +8 files are there/m,
    );
    await Deno.truncate(join(dataDir, "data-archive", ids[0]!), 4);
    await Deno.remove(join(dataDir, "data-archive", ids[1]!));
    assert.match(
      await found() ?? "",
      new RegExp(`^failed: 2 of 8 files .*: ${ids[0]} has 4 of 9 bytes, ${ids[1]} is missing →`),
    );
    for (const id of ids.slice(2)) await Deno.remove(join(dataDir, "data-archive", id));
    assert.match(
      await found() ?? "",
      /^failed: 8 of 8 .* is missing, and 3 others → put them back/,
    );
    await database.queries.insertInto("settings").values({ name: "storage_id", value: "x" })
      .execute();
    assert.match(await found() ?? "", /^failed: 1 of 8 files .* has 4 of 9 bytes →/);
    const rendered = renderFindings(await examine({ dataDir }, systemClock));
    assert.match(rendered, /^skipped +old readings +7 files are not in .*\n.*--blob-store/m);
    await database.close();
  }));

Deno.test("examine() tells a clock that is behind what was written", () =>
  withFolder(async (dataDir) => {
    const logs = SqliteLogStore.open(dataDir, systemClock);
    const texts = { level: "info", logger: "l", message: "m", host: "h" };
    await logs.append("part", [
      { timeNs: 1n, digest: 1, ...texts, caller: null, stack: null, fields: null },
    ]);
    logs.close();
    const clock = new FakeClock(new Date(Date.now() - 3_600_000));
    assert.match(wrong(await examine({ dataDir }, clock), "clock") ?? "", /failed.*NTP/);
  }));

Deno.test("examine() warns of a clock that jumped while the cloud served, or before", () =>
  withFolder(async (dataDir) => {
    const database = SqliteDatabase.open(dataDir);
    const year = 365 * 86_400_000;
    await new SteadyTime(new FakeClock(Date.now() - year)).load(database.queries, memoryLogger());
    await new SteadyTime(systemClock).load(database.queries, memoryLogger());
    database.close();
    const said = wrong(await examine({ dataDir }, systemClock), "clock") ?? "";
    assert.match(said, /^warning.*has jumped.*set it if it is wrong/s);
  }));

Deno.test("checkFolder() warns of a disk that is nearly full", () =>
  withFolder(async (dataDir) => {
    const at = (bytes: number) => checkFolder(dataDir, () => Promise.resolve(bytes));
    assert.match(wrong(await at(1e8), "disk") ?? "", /^failed/);
    assert.match(wrong(await at(1e9), "disk") ?? "", /^warning: 0\.9 GiB free/);
    assert.equal(wrong(await at(1e12), "disk"), undefined);
  }));

Deno.test("checkTls() tells an end that is near, another host and a key of another certificate", () =>
  withFolder(async (dataDir) => {
    const now = new Date("2026-01-01T00:00:00Z");
    const authority = await CertificateAuthority.open(dataDir, { now });
    const issue = async () => {
      const names = ["cloud.example"];
      const { certificate: cert, key } = await authority.issue({
        names,
        commonName: "c",
        now,
      });
      return { cert, key };
    };
    const pair = await issue();
    const look = (days: number, url = "https://cloud.example", used = pair) =>
      wrong(checkTls(used, url, new Date(now.getTime() + days * 86_400_000)), "tls");
    assert.equal(look(0), undefined);
    assert.match(look(80) ?? "", /^warning: the certificate ends .*in 10 days/);
    assert.match(look(91) ?? "", /^failed: the certificate ended/);
    assert.match(look(0, "https://other.example") ?? "", /not for other\.example/);
    assert.match(look(0, undefined, { ...pair, key: (await issue()).key }) ?? "", /not that of/);
    assert.match(look(0, undefined, { cert: "x", key: "y" }) ?? "", /no certificate in PEM/);
  }));

Deno.test("examine() says when the authority of the machines ends", () =>
  withFolder(async (dataDir) => {
    const now = systemClock.now();
    const look = async (days: number, authority?: string) =>
      wrong(
        await examine({ dataDir, authority }, new FakeClock(now.getTime() + days * 86_400_000)),
        "authority",
      );
    assert.equal(await look(4_000), undefined, "it is made at the first need");
    await CertificateAuthority.open(dataDir, { now });
    assert.equal(await look(0), undefined);
    assert.match(
      await look(3_640) ?? "",
      /^warning: the certificate authority .* in (9|10) days → put/,
    );
    assert.match(await look(3_651) ?? "", /^failed: the certificate authority .* ended/);
    const own = join(dataDir, "own.pem");
    assert.match(await look(0, own) ?? "", /^failed: .*own\.pem/);
    await Deno.writeTextFile(own, "hello");
    assert.match(await look(0, own) ?? "", /^failed: it has no certificate in PEM/);
  }));

Deno.test("examine() tries the mail server and the public URL", () =>
  withFolder(async (dataDir) => {
    await using mail = await FakeMailServer.start();
    await using web = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
      ({ url }) => new Response("{}", { status: url.endsWith("/healthz") ? 200 : 404 }),
    );
    const publicUrl = `http://127.0.0.1:${web.addr.port}`;
    const good = await examine({ dataDir, publicUrl, smtpUrl: mail.url }, systemClock);
    assert.equal(wrong(good, "smtp"), undefined);
    const unsaid = await examine({ dataDir, publicUrl }, systemClock);
    assert.match(wrong(unsaid, "smtp") ?? "", /^skipped: not checked.*--smtp-url/);
    assert.equal(wrong(good, "public-url"), undefined);
    const nobody = "127.0.0.1:9";
    const bad = await examine(
      { dataDir, publicUrl: `http://${nobody}`, smtpUrl: `smtp://${nobody}` },
      systemClock,
    );
    assert.match(wrong(bad, "smtp") ?? "", /check host, port/);
    assert.match(wrong(bad, "public-url") ?? "", /start serve/);
  }));
