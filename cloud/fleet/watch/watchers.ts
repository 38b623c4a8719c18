import type { Change, ChangeFeed } from "../../storage/database/change_feed.ts";
import type { ChangeKind } from "../../storage/database/schema.ts";
import { Mailbox } from "../../api/streams/mailbox.ts";

/** What is sent to a machine over its stream. `live`: somebody looks at it; `calls`: some wait. */
export type WatchEvent = ChangeKind | "live" | "calls";

interface Watcher {
  readonly orgId: string;
  readonly mailbox: Mailbox<WatchEvent>;
}

/** A stream that has not taken so many events takes none any more. */
const WAITING_EVENTS = 100;

/** The open streams to machines' servers. */
export class Watchers {
  readonly #byPart = new Map<string, Set<Watcher>>();
  readonly #stopListening: () => void;

  constructor(changes: ChangeFeed) {
    this.#stopListening = changes.listen((change) => this.#tell(change));
  }

  /** Everything that happens to a part from now on. Close the mailbox when done. */
  follow(part: { id: string; orgId: string }): Mailbox<WatchEvent> {
    const watchers = this.#byPart.get(part.id) ?? new Set();
    this.#byPart.set(part.id, watchers);
    const mailbox = new Mailbox<WatchEvent>(WAITING_EVENTS, () => {
      watchers.delete(watcher);
      if (watchers.size === 0) this.#byPart.delete(part.id);
    });
    const watcher = { orgId: part.orgId, mailbox };
    watchers.add(watcher);
    return mailbox;
  }

  /** Notifies every stream of a part. */
  tell(partId: string, event: WatchEvent): void {
    for (const { mailbox } of this.#byPart.get(partId) ?? []) mailbox.put(event);
  }

  /** Ends every stream. */
  close(): void {
    this.#stopListening();
    for (const watchers of [...this.#byPart.values()]) {
      for (const { mailbox } of [...watchers]) mailbox.close();
    }
  }

  #tell(change: Change): void {
    if (change.partId !== undefined) return this.tell(change.partId, change.kind);
    for (const watchers of this.#byPart.values()) {
      for (const watcher of watchers) {
        if (watcher.orgId === change.orgId) watcher.mailbox.put(change.kind);
      }
    }
  }
}
