import { toError } from "../../../shared/base/errors/to_error.ts";
import type { ChildProcess, OutputStream } from "../../../shared/base/process/child_process.ts";
import { describeExit } from "../../../shared/base/process/child_process.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import type { LogEntry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { LeftOut } from "../../../shared/log/left_out.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { anyChange, type Watched } from "../../../shared/workers/watched.ts";
import { firstLine, type SystemOutcome } from "../outcomes/system_outcome.ts";
import { type Identifiers, identifiersText, wants } from "./identifiers.ts";
import { type Journal, JournalError } from "./journal.ts";
import { isOwn, parseJournalLine, toJournalEntry } from "./journal_line.ts";
import { FROM_THE_START, type Resume, resumeAfter } from "./resume.ts";

/** The queue of the machine's log lines for the cloud. */
export interface ForwardingQueue {
  /** How far the journal was read. */
  mark(): string | undefined;
  /** Is on disk together with the entries that were appended before, or not at all. */
  setMark(cursor: string | undefined): void;
  append(entries: readonly LogEntry[]): void;
  /** Whether it takes more now. */
  hasRoom(): boolean;
}

/** What the settings request. `reason`: why nothing is forwarded, as a sentence. */
export type WantedForwarding =
  | { readonly kind: "on"; readonly identifiers: Identifiers }
  | { readonly kind: "off"; readonly reason: string; readonly isImpossible?: boolean };

export interface LogForwarderOptions {
  readonly journal: Journal;
  /** Undefined: it could not be opened. */
  readonly queue: ForwardingQueue | undefined;
  /** Undefined: it is not known yet. */
  readonly wanted: () => WantedForwarding | undefined;
  /** `wanted` is looked at again when one of these changes. */
  readonly changes: readonly Watched<unknown>[];
  readonly host: string;
  /** The agent's own unit; undefined when it runs under none. */
  readonly ownUnit: string | undefined;
  /** The host's start that runs now, 32 hexadecimal digits. */
  readonly boot: string;
  readonly hide: (text: string) => string;
  readonly tell: (outcome: SystemOutcome) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

const RETRY = { minMs: 1_000, maxMs: 60_000 };
/** A journalctl that lives so long works. */
const WORKS_AFTER_MS = 60_000;
const END_GRACE_MS = 2_000;
const LOOK_FOR_ROOM_MS = 500;
/** After so long without room journalctl is killed: it would keep files that journald has removed. */
const LONGEST_PAUSE_MS = 60_000;
/** Lines are queued together, and committed together: so many keep nobody waiting. */
const MOST_TAKEN = 100;
/** Lines that nobody wants are noted as read so often: memory cards wear out. */
const NOTE_EVERY_MS = 30_000;

/**
 * Puts the journal's lines into the queue for the cloud, each once: how far it has read is kept in
 * the same file as the lines. While the queue has no room the lines wait in the journal.
 */
export class LogForwarder {
  readonly #options: LogForwarderOptions;
  readonly #tooLong: LeftOut;
  #notedMs = -Infinity;
  #lastError = "";
  /** Lines of one read, and the cursor of the last of them. */
  #taken: LogEntry[] = [];
  #takenTo = "";

  constructor(options: LogForwarderOptions) {
    this.#options = options;
    this.#tooLong = new LeftOut(options.clock, (count) => {
      const lines = count === 1 ? "1 line" : `${count} lines`;
      options.log.warn(`${lines} of the journal left out: longer than 128 KiB`);
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { changes, wanted, queue, tell } = this.#options;
    const backoff = new Backoff(RETRY);
    while (!signal.aborted) {
      const asked = wanted();
      if (asked === undefined) await anyChange(changes, signal);
      else if (asked.kind === "off") {
        // Whoever switches it on again wants the lines from then on.
        if (queue?.mark() !== undefined) queue.setMark(undefined);
        tell({ state: asked.isImpossible ? "no-effect" : "untouched", text: asked.reason });
        await anyChange(changes, signal);
      } else if (queue === undefined) {
        tell({ state: "failed", text: "forward_system_logs: the log queue cannot be opened" });
        await anyChange(changes, signal);
      } else await this.#forwardOnce(queue, backoff, signal);
    }
    this.#tooLong.end();
  }

  /** Until journalctl ends, or the settings switch it off; waits before another try. */
  async #forwardOnce(
    queue: ForwardingQueue,
    backoff: Backoff,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, tell, changes } = this.#options;
    const startedMs = clock.monotonicMs();
    let problem: string;
    try {
      await this.#untilRoom(queue, signal);
      const resume = await this.#resume(queue, signal);
      const end = await this.#follow(queue, resume, signal);
      if (end === undefined) return;
      problem = end;
    } catch (error) {
      signal.throwIfAborted();
      problem = toError(error).message;
    }
    if (clock.monotonicMs() - startedMs > WORKS_AFTER_MS) backoff.reset();
    const text = `forward_system_logs: the journal cannot be read: ${problem}; it is tried again`;
    tell({ state: "failed", text });
    await anyChange(changes, signal, { clock, ms: backoff.next() });
  }

  async #resume(queue: ForwardingQueue, signal: AbortSignal): Promise<Resume> {
    const { journal, boot, log } = this.#options;
    const cursor = queue.mark();
    if (cursor !== undefined) {
      try {
        return resumeAfter(cursor, await journal.has(cursor, signal), boot);
      } catch (error) {
        if (!(error instanceof JournalError) || !/cursor/i.test(error.message)) throw error;
        log.warn("it is not known how far the journal was read; forwarding begins now", { error });
      }
    }
    const newest = await journal.newest(signal);
    queue.setMark(newest);
    return newest === undefined ? FROM_THE_START : resumeAfter(newest, true, boot);
  }

  /** @returns why journalctl ended; undefined when it was to end. */
  async #follow(
    queue: ForwardingQueue,
    resume: Resume,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { journal, changes, wanted } = this.#options;
    const ending = linkedController(signal);
    this.#lastError = "";
    const onLine = (stream: OutputStream, text: string) => {
      if (stream === "stderr") this.#lastError = text;
      else if (!ending.signal.aborted) this.#take(queue, resume, text);
    };
    const child = journal.follow(
      resume.args,
      onLine,
      () => {
        this.#flush(queue);
        return queue.hasRoom() ? undefined : this.#pause(queue, child, ending.signal);
      },
    );
    this.#tellOn();
    try {
      const ended = child.exited.then((info) => ({ info }));
      const stopped = this.#untilOff(changes, wanted, ending.signal);
      const first = await Promise.race([ended, stopped.then(() => undefined)]);
      if (first === undefined || this.#isPaused) return undefined;
      const exit = `journalctl ${describeExit(first.info)}`;
      return this.#lastError === "" ? exit : `${exit}: ${firstLine(this.#lastError)}`;
    } finally {
      ending.abort();
      this.#flush(queue);
      this.#isPaused = false;
      await child.stop({ graceMs: END_GRACE_MS });
    }
  }

  #isPaused = false;

  /** Until there is room again; a journalctl that waits too long is killed and started later. */
  async #pause(queue: ForwardingQueue, child: ChildProcess, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    while (!queue.hasRoom() && !signal.aborted) {
      if (clock.monotonicMs() - startedMs >= LONGEST_PAUSE_MS) {
        this.#isPaused = true;
        // What it still has in its pipe is read again later.
        void child.kill();
        return;
      }
      await clock.sleep(LOOK_FOR_ROOM_MS, signal).catch(() => {});
    }
  }

  async #untilRoom(queue: ForwardingQueue, signal: AbortSignal): Promise<void> {
    while (!queue.hasRoom()) await this.#options.clock.sleep(LOOK_FOR_ROOM_MS, signal);
  }

  async #untilOff(
    changes: LogForwarderOptions["changes"],
    wanted: LogForwarderOptions["wanted"],
    signal: AbortSignal,
  ): Promise<void> {
    while (wanted()?.kind === "on" && !signal.aborted) {
      await anyChange(changes, signal).catch(() => {});
      if (!signal.aborted) this.#tellOn();
    }
  }

  #tellOn(): void {
    const wanted = this.#options.wanted();
    if (wanted?.kind !== "on") return;
    this.#options.tell({
      state: "applied",
      text: `${identifiersText(wanted.identifiers)} are forwarded`,
    });
  }

  #take(queue: ForwardingQueue, resume: Resume, text: string): void {
    const { wanted, ownUnit, host, hide, clock } = this.#options;
    const line = parseJournalLine(text);
    if (line === undefined) {
      if (text.startsWith("{")) this.#tooLong.add();
      return;
    }
    this.#tooLong.room();
    const asked = wanted();
    if (this.#isPaused || resume.isKnown(line) || asked?.kind !== "on") return;
    if (isOwn(line, ownUnit) || !wants(asked.identifiers, line.identifier)) {
      const nowMs = clock.monotonicMs();
      if (nowMs - this.#notedMs < NOTE_EVERY_MS) return;
      this.#notedMs = nowMs;
      this.#flush(queue);
      return queue.setMark(line.cursor);
    }
    this.#taken.push(toJournalEntry(line, { host, hide }));
    this.#takenTo = line.cursor;
    if (this.#taken.length >= MOST_TAKEN) this.#flush(queue);
  }

  /** What was read at once is queued at once. */
  #flush(queue: ForwardingQueue): void {
    if (this.#taken.length === 0) return;
    const entries = this.#taken;
    this.#taken = [];
    // First, because appending may write both to the disk.
    queue.setMark(this.#takenTo);
    queue.append(entries);
  }
}
