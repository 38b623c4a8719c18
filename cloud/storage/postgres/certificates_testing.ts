import { join } from "node:path";
import assert from "node:assert/strict";

/** Self-signed certificates for a database in tests. */
export class DatabaseCertificates implements AsyncDisposable {
  private constructor(private readonly folder: string) {}

  /** @param all names of certificates, each with what it is for: `IP:127.0.0.1`, `DNS:db.example` */
  static async make(all: Readonly<Record<string, string>>): Promise<DatabaseCertificates> {
    // The server's user is let through to it, but not below TMPDIR.
    const folder = await Deno.makeTempDir({ dir: "/tmp", prefix: "machine-postgres-tls-" });
    await Deno.chmod(folder, 0o755);
    for (const [name, hosts] of Object.entries(all)) {
      await run("openssl", [
        ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
        ...["-days", "2", "-subj", "/CN=database", "-addext", `subjectAltName=${hosts}`],
        ...["-keyout", join(folder, `${name}.key`), "-out", join(folder, `${name}.pem`)],
      ]);
    }
    // Root's own key may be read by its group; the server is of another user.
    if (Deno.uid() === 0) await run("chown", ["-R", "postgres", folder]);
    return new DatabaseCertificates(folder);
  }

  /** Lines of postgresql.conf. */
  settings(name: string): string[] {
    return [
      "ssl = on",
      `ssl_cert_file = '${join(this.folder, `${name}.pem`)}'`,
      `ssl_key_file = '${join(this.folder, `${name}.key`)}'`,
    ];
  }

  /** The parameter of an address that trusts it. */
  root(name: string): string {
    return `sslrootcert=${encodeURIComponent(join(this.folder, `${name}.pem`))}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

async function run(program: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}
