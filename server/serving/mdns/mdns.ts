/** Lets a machine be found by name in its own network. What it needs is loaded with the first use. */
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { Announcement, MachineAnnouncer } from "./machine_announcer.ts";

export interface MdnsOptions {
  /** False with `-disable-mdns`: no socket is opened. */
  readonly enabled: boolean;
  readonly clock: Clock;
  /** `rdk.networking` */
  readonly log: Logger;
}

export class Mdns {
  #announcer: Promise<MachineAnnouncer | undefined> | undefined;
  #latest: Announcement | undefined;
  #isClosed = false;

  constructor(private readonly options: MdnsOptions) {}

  /**
   * Announces this from now on, in the background; what differs of what was announced before is
   * taken back. Never fails: a machine that cannot be announced is reached by its address.
   */
  announce(announcement: Announcement): void {
    if (!this.options.enabled || this.#isClosed) return;
    this.#latest = announcement;
    this.#announcer ??= this.#open();
    void this.#announcer.then((announcer) => {
      if (this.#latest && !this.#isClosed) announcer?.set(this.#latest);
    });
  }

  /** Says goodbye; takes a fraction of a second. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const announcer = await this.#announcer;
    await announcer?.close();
  }

  async #open(): Promise<MachineAnnouncer | undefined> {
    const { clock, log } = this.options;
    try {
      const { openAnnouncer } = await import("./announce.ts");
      return openAnnouncer({ clock, log });
    } catch (error) {
      log.warn(`this machine cannot be announced by multicast DNS: ${reasonOf(error)}`, {
        event: "announcing_failed",
      });
    }
  }
}
