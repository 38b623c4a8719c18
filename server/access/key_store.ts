/** The cloud's API keys for this machine, kept for the time without a cloud. */
import type { Database } from "../../shared/store/sqlite.ts";

interface Row {
  id: string;
  hash: string;
}

export class KeyStore {
  constructor(private readonly db: Database, private readonly part: string) {}

  /** id → salted hash */
  load(): Map<string, string> {
    const rows = this.db.prepare<[string], Row>("SELECT id, hash FROM access_keys WHERE part = ?")
      .all(this.part);
    return new Map(rows.map(({ id, hash }) => [id, hash]));
  }

  replace(keys: ReadonlyMap<string, string>): void {
    this.db.transaction(() => {
      this.db.prepare("DELETE FROM access_keys WHERE part = ?").run(this.part);
      const insert = this.db.prepare("INSERT INTO access_keys (part, id, hash) VALUES (?, ?, ?)");
      for (const [id, hash] of keys) insert.run(this.part, id, hash);
    }).immediate();
  }
}
