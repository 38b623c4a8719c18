import { join } from "node:path";
import assert from "node:assert/strict";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { readSetting } from "../database/settings.ts";
import { parsePostgresAddress } from "./address.ts";
import { PostgresDatabase } from "./postgres_database.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql", "openssl");

/** A certificate of its own for names, and its key, as files that the server may read. */
async function makeCertificate(folder: string, name: string, names: string): Promise<void> {
  const { success, stderr } = await new Deno.Command("openssl", {
    args: [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
      ...["-days", "2", "-subj", "/CN=database", "-addext", `subjectAltName=${names}`],
      ...["-keyout", join(folder, `${name}.key`), "-out", join(folder, `${name}.pem`)],
    ],
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

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
    // The server's user is let through to it, but not below TMPDIR.
    const folder = await Deno.makeTempDir({ dir: "/tmp", prefix: "machine-postgres-tls-" });
    try {
      await Deno.chmod(folder, 0o755);
      await makeCertificate(folder, "server", "IP:127.0.0.1");
      await makeCertificate(folder, "other", "IP:127.0.0.1");
      await makeCertificate(folder, "elsewhere", "DNS:db.example");
      const settings = (name: string) => [
        "ssl = on",
        `ssl_cert_file = '${join(folder, `${name}.pem`)}'`,
        `ssl_key_file = '${join(folder, `${name}.key`)}'`,
      ];
      // Root's own key may be read by its group; the server is of another user.
      if (Deno.uid() === 0) await giveAway(folder);
      const root = (name: string) =>
        `sslrootcert=${encodeURIComponent(join(folder, `${name}.pem`))}`;
      {
        await using server = await PostgresServer.start(settings("server"));
        const isEncrypted =
          "select count(*) from pg_stat_ssl where ssl and pid <> pg_backend_pid()";
        const address = server.address("sslmode=verify-full", root("server"));
        const database = await PostgresDatabase.open(parsePostgresAddress(address, "/data"));
        await readSetting(database.queries, "domain");
        assert.notEqual(await server.query(isEncrypted), "0");
        await database.close();
        await connects(server, "sslmode=require");
        await assert.rejects(
          connects(server, "sslmode=verify-full", root("other")),
          /Cannot connect to postgres:.*(self-signed|unable to verify)/,
        );
        await assert.rejects(
          connects(server, "sslmode=verify-full"),
          /Cannot connect to postgres:.*self-signed/,
        );
      }
      await using server = await PostgresServer.start(settings("elsewhere"));
      await assert.rejects(
        connects(server, "sslmode=verify-full", root("elsewhere")),
        /Cannot connect to postgres:.*(altnames|does not match)/,
      );
      await connects(server, "sslmode=verify-ca", root("elsewhere"));
      await using plain = await PostgresServer.start();
      await assert.rejects(connects(plain, "sslmode=require"), /has no TLS; turn TLS on there/);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

async function giveAway(folder: string): Promise<void> {
  const { success } = await new Deno.Command("chown", { args: ["-R", "postgres", folder] })
    .output();
  assert.ok(success);
}
