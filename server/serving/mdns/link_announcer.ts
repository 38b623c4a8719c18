/** One machine on one link: claims its names, announces them, answers, says goodbye. */
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import { Answers } from "./answers.ts";
import { type Conflict, conflictIn, lostTo, type Own } from "./conflicts.ts";
import type { GroupSocket, OpenGroupSocket } from "./group_socket.ts";
import { isOnLink, type Link } from "./links.ts";
import type { Heard, Said, Sender } from "./mdns_message.ts";
import { type AnnouncedNames, hostOf, renamed } from "./names.ts";
import { allRecords, claimedRecords, type Instance, serviceName } from "./records.ts";
import { unasked } from "./responder.ts";

/** From one probe to the next, and from the last one to the announcement. RFC 6762, 8.1. */
const PROBE_MS = 250;
const PROBES = 3;
/** From one announcement to the next. RFC 6762, 8.3. */
const ANNOUNCE_MS = 1_000;
const ANNOUNCEMENTS = 2;
/** How long the one waits that lost a claim made at the same time. RFC 6762, 8.2. */
const DEFER_MS = 1_000;
/** How long a name that cannot be changed is left to the other before it is claimed again. */
const QUIET_MS = 60_000;
/** Names tried one after the other before this machine keeps quiet for a while. */
const MOST_NAMES = 20;
/** A goodbye must not hold up the end of the server. */
const FAREWELL_MS = 200;

/** Why a claim began again. */
type Interruption =
  | { readonly kind: "conflict" | "lost"; readonly conflict: Conflict; readonly from: string }
  | { readonly kind: "link was down" };

export interface LinkAnnouncerOptions {
  readonly link: Link;
  readonly names: AnnouncedNames;
  /** The public one. */
  readonly port: number;
  /** Whether WebRTC is served next to gRPC. */
  readonly webrtc: boolean;
  /** Read at each use. */
  readonly own: () => Own;
  readonly open: OpenGroupSocket;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** Under which names it is announced now: those that were wanted, or others. */
  readonly onAnnounced: (names: readonly string[]) => void;
  /** The port cannot be had. */
  readonly onFailed: (error: Error) => void;
}

export class LinkAnnouncer {
  readonly #stop = new AbortController();
  readonly #socket: GroupSocket;
  readonly #answers: Answers;
  readonly #running: Promise<void>;
  /** What is claimed or announced. */
  #instances: readonly Instance[] = [];
  /** What is announced; a goodbye takes it back. */
  #announced: readonly Instance[] = [];
  #number = 1;
  #interrupt: (why: Interruption) => void = () => {};
  #isAway = false;

  constructor(private readonly options: LinkAnnouncerOptions) {
    const { clock, random, link, open, onFailed } = options;
    this.#answers = new Answers({
      instances: () => this.#announced,
      send: (message, to) => void this.#send(message, to),
      clock,
      random,
    });
    this.#socket = open(link.address, {
      heard: (message, from) => this.#heard(message, from),
      failed: (error) => {
        this.#stop.abort();
        onFailed(error);
      },
    });
    this.#running = this.#run(this.#stop.signal);
  }

  /** Joins the group again if the link was away meanwhile. */
  refresh(): void {
    this.#socket.refresh();
    if (this.#isAway) this.#interrupt({ kind: "link was down" });
  }

  /** Says goodbye and gives the port back. Never rejects. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#answers.close();
    await this.#running;
    await this.#sayFarewell();
    await this.#socket.close();
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) await this.#settle(await this.#claim(signal), signal);
    } catch (error) {
      if (signal.aborted) return;
      this.options.log.error(`announcing stopped: ${reasonOf(error)}`, {
        event: "announcing_failed",
        link: this.options.link.name,
      });
    }
  }

  /** Claims the names and answers under them, until something is in the way. */
  async #claim(signal: AbortSignal): Promise<Interruption> {
    const { names, link, port, webrtc } = this.options;
    const { ipv4, ipv6 } = link;
    this.#instances = names.names.map((name) => (
      { name: renamed(name, this.#number), port, webrtc, ipv4, ipv6 }
    ));
    const claim = linkedController(signal);
    const interrupted = Promise.withResolvers<Interruption>();
    this.#interrupt = interrupted.resolve;
    try {
      const announcing = this.#announce(claim.signal);
      announcing.catch(() => {}); // Of what is thrown only the signal's end comes here.
      return await Promise.race([interrupted.promise, announcing]);
    } finally {
      this.#interrupt = () => {};
      claim.abort();
    }
  }

  /** Ends by the signal only. */
  async #announce(signal: AbortSignal): Promise<never> {
    const { clock, random, onAnnounced } = this.options;
    await clock.sleep(random() * PROBE_MS, signal);
    for (let probe = 0; probe < PROBES; probe++) {
      await this.#sendAll(this.#instances.map(probeFor));
      await clock.sleep(PROBE_MS, signal);
    }
    this.#announced = this.#instances;
    onAnnounced(this.#instances.map(({ name }) => name));
    for (let time = 0; time < ANNOUNCEMENTS; time++) {
      if (time > 0) await clock.sleep(ANNOUNCE_MS, signal);
      await this.#sendAll(unasked(this.#instances.map(allRecords), "alive"));
    }
    return await new Promise<never>((_, reject) => {
      signal.throwIfAborted();
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  /** What is to be done before the next claim. */
  async #settle(why: Interruption, signal: AbortSignal): Promise<void> {
    const { clock, log, names, link } = this.options;
    // No goodbye: what it takes back would be the other's.
    this.#announced = [];
    if (why.kind === "link was down") return;
    // The other has the name when it is requested again, or it was nobody.
    if (why.kind === "lost") return await clock.sleep(DEFER_MS, signal);
    const fields = { link: link.name, name: why.conflict.name, by: why.from };
    if (names.isRenamable && this.#number < MOST_NAMES) {
      this.#number++;
      log.info("another host has the name of this machine; it takes another one", fields);
      return;
    }
    log.warn(
      "another machine in this network has the name of this one, which is not announced " +
        "here until the other has left; give each machine credentials of its own",
      { event: "announcing_failed", ...fields },
    );
    await clock.sleep(QUIET_MS, signal);
    this.#number = 1;
  }

  #heard(message: Heard, from: Sender): void {
    const { link, own } = this.options;
    if (this.#stop.signal.aborted || !isOnLink(link, from.address)) return;
    const isProbing = this.#announced.length === 0;
    if (message.type !== "query") {
      const conflict = conflictIn(message, from.address, this.#instances, own());
      // Who has announced a name claims it once more: there may be nobody behind what was received.
      const kind = isProbing ? "conflict" : "lost";
      if (conflict) this.#interrupt({ kind, conflict, from: from.address });
      return;
    }
    const lost = isProbing && lostTo(message, from.address, this.#instances, own());
    if (lost) this.#interrupt({ kind: "lost", conflict: lost, from: from.address });
    else this.#answers.heard(message, from);
  }

  async #sayFarewell(): Promise<void> {
    const { clock } = this.options;
    const ending = new AbortController();
    const goodbye = this.#sendAll(unasked(this.#announced.map(allRecords), "gone"));
    const limit = clock.sleep(FAREWELL_MS, ending.signal).catch(() => {});
    await Promise.race([goodbye, limit]);
    ending.abort();
  }

  async #sendAll(messages: readonly Said[]): Promise<void> {
    for (const message of messages) await this.#send(message);
  }

  /** A cable that is pulled out is reported once. */
  async #send(message: Said, to?: Sender): Promise<void> {
    const { log, link } = this.options;
    try {
      await this.#socket.send(message, to);
      if (!to) this.#isAway = false;
    } catch (error) {
      if (to) return; // It may be the one who asked that is away.
      if (!this.#isAway) {
        log.debug("nothing can be announced on a link", {
          link: link.name,
          reason: reasonOf(error),
        });
      }
      this.#isAway = true;
    }
  }
}

/** Asks whether anybody has the names, and says what would be announced under them. */
function probeFor(instance: Instance): Said {
  const names = [serviceName(instance.name), hostOf(instance.name)];
  return {
    type: "query",
    questions: names.map((name) => ({ name, type: "ANY" })),
    authorities: claimedRecords(instance),
  };
}
