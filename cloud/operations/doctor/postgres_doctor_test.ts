import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { DatabaseCertificates } from "../../storage/postgres/certificates_testing.ts";
import { writeNotedAddress } from "../../storage/data_folder/database_choice.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { examine } from "./doctor.ts";

Deno.test({
  name: "the doctor looks at version, connections, locks, clock and certificate of PostgreSQL",
  // Where all tests are given one database, it counts.
  ignore: ignoreWithout(import.meta.url, "postgresql", "openssl") ||
    Deno.env.has("MACHINE_CLOUD_DATABASE"),
  async fn() {
    const host = "IP:127.0.0.1";
    await using certificates = await DatabaseCertificates.make({ server: host, other: host });
    await using server = await PostgresServer.start([
      "max_connections = 24",
      ...certificates.settings("server"),
    ]);
    const dataDir = await Deno.makeTempDir({ prefix: "machine-doctor-" });
    const states = async (clock = systemClock) =>
      Object.fromEntries(
        (await examine({ dataDir }, clock)).map(({ check, state, detail }) => [
          check,
          `${state}: ${detail}`,
        ]),
      );
    try {
      await writeNotedAddress(dataDir, server.address("pool=4"));
      await (await openDataFolder(dataDir, systemRandom)).database.close();
      const good = await states();
      assert.match(good["database"] ?? "", /^ok: .*PostgreSQL \d+.*schema \d+$/);
      assert.match(good["server"] ?? "", /^ok: the database has [\d.]+ MiB/);
      assert.match(good["connections"] ?? "", /^ok: \d+ of 21 connections/);
      assert.match(good["locks"] ?? "", /^ok/);
      assert.match(good["database clock"] ?? "", /^ok/);
      assert.equal(good["old readings"], undefined);

      const id = crypto.randomUUID();
      await server.query(`set search_path = machine_cloud; insert into archived_files (id, org_id,
        part_id, day, readings, reading_bytes, size, sha256, min_synced_at, max_synced_at)
        values ('${id}', 'org', 'part', 0, 1, 1, 9, '', 1, 1)`);
      assert.match(
        (await states())["old readings"] ?? "",
        new RegExp(`^failed: 1 of 1 files .*: ${id} is missing`),
      );

      const later = new FakeClock(new Date(Date.now() + 60_000).toISOString());
      assert.match(
        (await states(later))["database clock"] ?? "",
        /^warning: .* ahead of the server/,
      );
      await writeNotedAddress(dataDir, server.address("pool=40"));
      assert.match((await states())["connections"] ?? "", /^warning: .* takes up to 48/);
      const verified = async (name: string) => {
        const trusted = ["sslmode=verify-full", certificates.root(name)];
        await writeNotedAddress(dataDir, server.address(...trusted));
        return (await states())["database"] ?? "";
      };
      assert.match(await verified("server"), /^ok/);
      assert.match(
        await verified("other"),
        /^failed: The certificate of postgres:.* none that is trusted here .*sslrootcert=/,
      );
      await server.halt();
      assert.match((await states())["database"] ?? "", /^failed/);
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});
