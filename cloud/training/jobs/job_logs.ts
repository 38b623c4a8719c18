import type { Insertable, Selectable } from "kysely";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { TrainingLogsTable } from "../../storage/database/training_schema.ts";
import { pageToken, parsePageToken } from "../../api/paging/paging.ts";

export type TrainingLogLevel = Selectable<TrainingLogsTable>["level"];

/** One line of what a job printed. */
export interface JobLogLine {
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  readonly level: TrainingLogLevel;
  readonly message: string;
}

export interface JobLogPage {
  readonly lines: readonly JobLogLine[];
  /** Empty: there are no more lines now. */
  readonly nextPageToken: string;
}

/** How much of a job's output is kept at each of its two ends. */
export interface LogBounds {
  readonly lines: number;
  readonly characters: number;
}

/** How long a job's logs are kept after its end; the public cloud does the same. */
export const TRAINING_LOG_RETENTION_DAYS = 7;
/** Of each job the first so many lines are kept, and the newest so many. */
const KEPT_AT_EACH_END: LogBounds = { lines: 10_000, characters: 4 * 1024 * 1024 };

/** A longer line is cut. */
const LONGEST_MESSAGE = 8 * 1024;
const LINES_PER_PAGE = 1_000;
/** So that a page fits in the 4 MiB that gRPC clients take. */
const CHARACTERS_PER_PAGE = 1024 * 1024;
const ROWS_PER_STATEMENT = 500;
const REMEMBERED_JOBS = 256;
const DAY_MS = 24 * 60 * 60_000;

/** What is known of the lines that are stored. */
interface Stored {
  /** Number of the last line. */
  last: number;
  head: { lines: number; characters: number };
  /** Once this is so, no line is added to the head any more. */
  headFull: boolean;
  /** Number and length of the lines behind the head, oldest first. */
  tail: { readonly number: number; readonly characters: number }[];
  tailCharacters: number;
}

/**
 * What jobs printed. Of each job the first lines and the newest ones are kept. Lines are numbered
 * without a break when they come, so a break in what is stored shows how many were left out.
 */
export class JobLogs {
  readonly #stored = new Map<number, Promise<Stored>>();

  constructor(
    private readonly queries: Queries,
    private readonly bounds: LogBounds = KEPT_AT_EACH_END,
  ) {}

  /** Adds lines behind those that are there. Calls for the same job are done one after another. */
  async append(jobSeq: number, lines: readonly JobLogLine[]): Promise<void> {
    if (lines.length === 0) return;
    const before = this.#stored.get(jobSeq) ?? this.#load(jobSeq);
    const after = before.then((stored) => this.#add(jobSeq, stored, lines));
    this.#stored.delete(jobSeq);
    this.#stored.set(jobSeq, after);
    const [longestUnused] = this.#stored.keys();
    if (this.#stored.size > REMEMBERED_JOBS && longestUnused !== undefined) {
      this.#stored.delete(longestUnused);
    }
    // What failed may have been stored in part: the next call looks again.
    await after.catch((error) => {
      this.#stored.delete(jobSeq);
      throw error;
    });
  }

  /**
   * One page, oldest line first. A line that says how many were left out stands in their place.
   * Throws INVALID_ARGUMENT for a token that did not come from here.
   * @param token what the page before gave; empty or undefined: the first page
   */
  async page(jobSeq: number, token: string | undefined): Promise<JobLogPage> {
    const [given = 0n] = parsePageToken(token, 1) ?? [];
    const after = Math.max(0, Number(given));
    const rows = await this.queries.selectFrom("training_logs").selectAll()
      .where("job_seq", "=", jobSeq).where("number", ">", after)
      .orderBy("number").limit(LINES_PER_PAGE + 1).execute();
    const lines: JobLogLine[] = [];
    let characters = 0;
    let last = after;
    for (const { number, time_ms, level, message } of rows) {
      characters += message.length;
      const isFull = lines.length >= LINES_PER_PAGE || characters > CHARACTERS_PER_PAGE;
      if (isFull && lines.length > 0) return { lines, nextPageToken: pageToken(last) };
      if (number > last + 1) {
        const notice = `${number - last - 1} lines are left out here: of each job the first ` +
          "and the newest lines are kept";
        lines.push({ timeMs: time_ms, level: "warn", message: notice });
      }
      lines.push({ timeMs: time_ms, level, message });
      last = number;
    }
    return { lines, nextPageToken: "" };
  }

  /** Deletes the lines of jobs that ended too long ago. @returns of how many jobs */
  async deleteOld(now: Date, signal?: AbortSignal): Promise<number> {
    const before = now.getTime() - TRAINING_LOG_RETENTION_DAYS * DAY_MS;
    const jobs = await this.queries.selectFrom("training_jobs").select("seq")
      .where("ended_at", "<", before)
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom("training_logs").select("number")
            .whereRef("training_logs.job_seq", "=", "training_jobs.seq"),
        )
      ).execute();
    let deleted = 0;
    for (const { seq } of jobs) {
      if (signal?.aborted) break;
      await this.queries.deleteFrom("training_logs").where("job_seq", "=", seq).execute();
      this.#stored.delete(seq);
      deleted++;
    }
    return deleted;
  }

  async #add(jobSeq: number, known: Stored, lines: readonly JobLogLine[]): Promise<Stored> {
    const stored: Stored = { ...known, head: { ...known.head }, tail: [...known.tail] };
    const rows = lines.map(({ timeMs, level, message: given }): Insertable<TrainingLogsTable> => {
      const message = storable(given);
      this.#count(stored, ++stored.last, message.length);
      return { job_seq: jobSeq, number: stored.last, time_ms: timeMs, level, message };
    });
    const dropTo = this.#firstKept(stored);
    const headEnd = stored.head.lines;
    const kept = rows.filter(({ number }) => number <= headEnd || number >= dropTo);
    await this.queries.transaction().execute(async (transaction) => {
      for (let at = 0; at < kept.length; at += ROWS_PER_STATEMENT) {
        await transaction.insertInto("training_logs")
          .values(kept.slice(at, at + ROWS_PER_STATEMENT)).execute();
      }
      if (dropTo <= headEnd + 1) return;
      await transaction.deleteFrom("training_logs").where("job_seq", "=", jobSeq)
        .where("number", ">", headEnd).where("number", "<", dropTo).execute();
    });
    return stored;
  }

  #count(stored: Stored, number: number, characters: number): void {
    const { head } = stored;
    stored.headFull ||= head.lines >= this.bounds.lines ||
      head.characters + characters > this.bounds.characters;
    if (stored.headFull) {
      stored.tail.push({ number, characters });
      stored.tailCharacters += characters;
    } else {
      head.lines++;
      head.characters += characters;
    }
  }

  /** Takes from the tail what is too much. @returns the number of the first line that stays */
  #firstKept(stored: Stored): number {
    let drop = Math.max(0, stored.tail.length - this.bounds.lines);
    for (let at = 0; at < drop; at++) stored.tailCharacters -= stored.tail[at]?.characters ?? 0;
    while (stored.tailCharacters > this.bounds.characters && drop < stored.tail.length - 1) {
      stored.tailCharacters -= stored.tail[drop]?.characters ?? 0;
      drop++;
    }
    stored.tail.splice(0, drop);
    return stored.tail[0]?.number ?? stored.head.lines + 1;
  }

  async #load(jobSeq: number): Promise<Stored> {
    const rows = await this.queries.selectFrom("training_logs")
      .select(["number", (eb) => eb.fn<number>("length", ["message"]).as("characters")])
      .where("job_seq", "=", jobSeq).orderBy("number").execute();
    const stored: Stored = {
      last: 0,
      head: { lines: 0, characters: 0 },
      headFull: false,
      tail: [],
      tailCharacters: 0,
    };
    for (const { number, characters } of rows) {
      // A break shows where the head ends.
      if (number > stored.last + 1) stored.headFull = true;
      this.#count(stored, number, characters);
      stored.last = number;
    }
    return stored;
  }
}

/** A text that can be stored and sent: whole characters, no NUL, not too long. */
function storable(message: string): string {
  const text = message.toWellFormed().replaceAll("\0", "\uFFFD");
  if (text.length <= LONGEST_MESSAGE) return text;
  const cut = text.slice(0, LONGEST_MESSAGE).toWellFormed();
  return `${cut} … (${text.length - LONGEST_MESSAGE} characters more)`;
}
