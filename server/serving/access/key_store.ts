/** Who may open the machine, as the cloud reported it, kept for the time without a cloud. */
import type { Database } from "../../../shared/base/store/sqlite.ts";
import type { CloudAccess } from "./cloud_access.ts";

interface Row {
  kind: "key" | "part" | "location";
  id: string;
  hash: string;
  role: string;
}

export class KeyStore {
  constructor(private readonly db: Database, private readonly part: string) {}

  load(): CloudAccess {
    const rows = this.db.prepare<[string], Row>(
      "SELECT kind, id, hash, role FROM access_credentials WHERE part = ? ORDER BY kind, id",
    ).all(this.part);
    const hashes = (kind: Row["kind"]) =>
      rows.filter((row) => row.kind === kind).map(({ hash }) => hash);
    const keys = rows.filter(({ kind }) => kind === "key").map((row) =>
      [
        row.id,
        { hash: row.hash, role: row.role === "owner" ? "owner" : "operator" },
      ] as const
    );
    return {
      keys: new Map(keys),
      partSecrets: hashes("part"),
      locationSecrets: hashes("location"),
    };
  }

  replace({ keys, partSecrets, locationSecrets }: CloudAccess): void {
    this.db.transaction(() => {
      this.db.prepare("DELETE FROM access_credentials WHERE part = ?").run(this.part);
      const insert = this.db.prepare(
        "INSERT INTO access_credentials (part, kind, id, hash, role) VALUES (?, ?, ?, ?, ?)",
      );
      for (const [id, { hash, role }] of keys) insert.run(this.part, "key", id, hash, role);
      const secrets = { part: partSecrets, location: locationSecrets };
      for (const [kind, hashes] of Object.entries(secrets)) {
        hashes.forEach((hash, at) => insert.run(this.part, kind, String(at), hash, ""));
      }
    }).immediate();
  }
}
