import assert from "node:assert/strict";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { readSetting } from "../database/settings.ts";
import { parsePostgresAddress } from "./address.ts";
import { DatabaseCertificates } from "./certificates_testing.ts";
import { PostgresDatabase } from "./postgres_database.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql", "openssl");

async function connects(server: PostgresServer, ...parameters: string[]): Promise<void> {
  const address = parsePostgresAddress(server.address(...parameters), "/data");
  const database = await PostgresDatabase.open(address);
  try {
    await readSetting(database.queries, "domain");
  } finally {
    await database.close();
  }
}

Deno.test({
  name: "PostgresDatabase.open() sends nothing to a server whose certificate is another's",
  ignore,
  async fn() {
    await using certificates = await DatabaseCertificates.make({
      server: "IP:127.0.0.1",
      other: "IP:127.0.0.1",
      elsewhere: "DNS:db.example",
    });
    {
      await using server = await PostgresServer.start(certificates.settings("server"));
      const isEncrypted = "select count(*) from pg_stat_ssl where ssl and pid <> pg_backend_pid()";
      const address = server.address("sslmode=verify-full", certificates.root("server"));
      const database = await PostgresDatabase.open(parsePostgresAddress(address, "/data"));
      await readSetting(database.queries, "domain");
      assert.notEqual(await server.query(isEncrypted), "0");
      await database.close();
      await connects(server, "sslmode=require");
      await assert.rejects(
        connects(server, "sslmode=verify-full", certificates.root("other")),
        /certificate of postgres:.* none that is trusted here \((self-signed|unable to verify)/,
      );
      await assert.rejects(
        connects(server, "sslmode=verify-full"),
        /certificate of postgres:.*self-signed.*name the file of its CA with sslrootcert=/,
      );
    }
    await using server = await PostgresServer.start(certificates.settings("elsewhere"));
    await assert.rejects(
      connects(server, "sslmode=verify-full", certificates.root("elsewhere")),
      /certificate of postgres:.* is for another host \(.*(altnames|does not match)/,
    );
    await connects(server, "sslmode=verify-ca", certificates.root("elsewhere"));
    await using plain = await PostgresServer.start();
    await assert.rejects(connects(plain, "sslmode=require"), /has no TLS; turn TLS on there/);
  },
});
