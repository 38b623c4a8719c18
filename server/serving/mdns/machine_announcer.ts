/** Announces a machine by multicast DNS on every link that its port can be reached by. */
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { Own } from "./conflicts.ts";
import type { OpenGroupSocket } from "./group_socket.ts";
import { LinkAnnouncer } from "./link_announcer.ts";
import { type Interfaces, type Link, linksOf, ownAddresses } from "./links.ts";
import { announcedNames } from "./names.ts";

/** From one look at the links of this host to the next. Milliseconds. */
const LOOK_MS = 10_000;

/** What is announced. */
export interface Announcement {
  /** Names that the cloud or the configuration gave; empty ones are left out. */
  readonly given: readonly (string | undefined)[];
  /** The address that the server listens on, and its port. */
  readonly hostname: string;
  readonly port: number;
  /** Whether WebRTC is served next to gRPC. */
  readonly webrtc: boolean;
}

export interface MachineAnnouncerOptions {
  /** Addresses of this host that are up now. */
  readonly interfaces: () => Interfaces;
  /** Name of this host. */
  readonly hostname: string;
  readonly open: OpenGroupSocket;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** `rdk.networking` */
  readonly log: Logger;
}

export class MachineAnnouncer {
  readonly #links = new Map<string, LinkAnnouncer>();
  readonly #ports = new Set<number>();
  readonly #stop = new AbortController();
  readonly #announcement = new Watched<Announcement | undefined>(undefined);
  #own: Own = { addresses: new Set(), ports: this.#ports };
  #hasFailed = false;
  #told = "";
  readonly #running: Promise<void>;

  constructor(private readonly options: MachineAnnouncerOptions) {
    this.#running = this.#run(this.#stop.signal);
  }

  /** Announces this from now on; what it replaces is taken back. */
  set(announcement: Announcement): void {
    this.#ports.add(announcement.port);
    this.#announcement.value = announcement;
  }

  /** Says goodbye on all links. Never rejects; takes well under a second. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#closeAll([...this.#links.keys()]);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.options;
    const onFailure = (error: unknown) =>
      log.debug(`the links of this host cannot be read: ${reasonOf(error)}`);
    const changes = [this.#announcement];
    await pollLoop(
      () => this.#look(),
      { clock, intervalMs: LOOK_MS, changes, onFailure },
      signal,
    );
  }

  /** Begins on links that came, ends on those that went or changed, and leaves the others alone. */
  async #look(): Promise<void> {
    const { interfaces, hostname } = this.options;
    const announcement = this.#announcement.value;
    if (!announcement) return;
    const present = interfaces();
    this.#own = { addresses: ownAddresses(present), ports: this.#ports };
    const names = announcedNames({ given: announcement.given, hostname, port: announcement.port });
    const { port, webrtc } = announcement;
    const wanted = new Map(
      linksOf(announcement.hostname, present).map((link) => [
        JSON.stringify([link, names, port, webrtc]),
        link,
      ]),
    );
    // First: a goodbye after the new announcement would take that back.
    await this.#closeAll([...this.#links.keys()].filter((key) => !wanted.has(key)));
    for (const [key, link] of wanted) {
      const running = this.#links.get(key);
      if (running) running.refresh();
      else this.#links.set(key, this.#begin(key, link, { names, port, webrtc }));
    }
  }

  #begin(
    key: string,
    link: Link,
    what: Pick<ConstructorParameters<typeof LinkAnnouncer>[0], "names" | "port" | "webrtc">,
  ): LinkAnnouncer {
    const { open, clock, random, log } = this.options;
    return new LinkAnnouncer({
      ...what,
      link,
      own: () => this.#own,
      open,
      clock,
      random,
      log,
      onAnnounced: (names) => this.#announcedOn(link, names),
      onFailed: (error) => {
        this.#links.delete(key); // To be tried again with the next look.
        this.#failed(error);
      },
    });
  }

  async #closeAll(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map(async (key) => {
      const link = this.#links.get(key);
      this.#links.delete(key);
      await link?.close();
    }));
  }

  #announcedOn(link: Link, names: readonly string[]): void {
    const { log } = this.options;
    this.#hasFailed = false;
    const told = names.join(" ");
    // Once for all links: a host with containers has many.
    log[told === this.#told ? "debug" : "info"]("announced by multicast DNS", {
      names,
      link: link.name,
      addresses: [...link.ipv4, ...link.ipv6],
    });
    this.#told = told;
  }

  #failed(error: Error): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.options.log.warn(
      "this machine cannot be announced by multicast DNS and is found by its address only: " +
        `${reasonOf(error)}. UDP port 5353 may be another program's that does not share it; ` +
        "-disable-mdns stops the retries",
      { event: "announcing_failed" },
    );
  }
}
