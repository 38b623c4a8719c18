import { Code, ConnectError } from "@connectrpc/connect";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import type { S3Settings } from "../../storage/blobs/s3_settings.ts";
import type { ObjectStorage, QueryRequest } from "./query_form.ts";
import { Turns } from "../../storage/subprocess/turns.ts";
import { QueryChild, type QueryProgram, type QueryResult } from "./query_child.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface QueryRunnerOptions {
  /** Folder of the cloud's data. */
  readonly dataDir: string;
  /** Where the readings are on PostgreSQL; left out: in the folder. See `CloudDatabase.reader`. */
  readonly reader?: string | undefined;
  /** Where old readings are besides the folder; left out: nowhere. */
  readonly objectStorage?: S3Settings | undefined;
  readonly program: QueryProgram;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a query may take; left out: 10 s. */
  readonly limitMs?: number | undefined;
  /** Most memory of a process, bytes; left out: 768 MiB. Only where the system reports it. */
  readonly limitBytes?: number | undefined;
}

/** Each that runs takes a processor; one organisation leaves one for the others. */
const TURNS = { mostRunning: 3, mostRunningOfOne: 2, mostWaiting: 128, mostWaitingOfOne: 32 };
const LIMIT_MS = 10_000;
const LIMIT_BYTES = 768 * 1024 * 1024;
/** A process without work is killed after this; the next query then starts one in about 0.3 s. */
const IDLE_MS = 30_000;
/** A start takes 0.3 s, on a host with twenty programs a processor a hundred times that. */
const START_MS = 60_000;

/**
 * Runs queries in processes of their own. One that takes too long or too much memory is killed with
 * its process, and nothing else notices.
 */
export class QueryRunner {
  readonly #idle: { child: QueryChild; timer: Timer }[] = [];
  readonly #running = new Set<QueryChild>();
  readonly #turns = new Turns(TURNS, "queries");
  #isClosed = false;

  constructor(private readonly options: QueryRunnerOptions) {}

  /**
   * @returns BSON documents.
   * @throws {ConnectError} INVALID_ARGUMENT when the query is wrong, RESOURCE_EXHAUSTED when it
   * gives or takes too much, DEADLINE_EXCEEDED when it takes too long, DATA_LOSS, UNAVAILABLE.
   */
  async run(request: QueryRequest, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>[]> {
    const end = await this.#turns.take(request.scope.orgId, signal);
    try {
      return await this.#runNow(request, signal);
    } finally {
      end();
    }
  }

  /** Ends all processes; queries that run fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const children = [...this.#running, ...this.#idle.map(({ child }) => child)];
    for (const { timer } of this.#idle.splice(0)) timer.cancel();
    await Promise.all(children.map((child) => child.kill()));
  }

  async #runNow(request: QueryRequest, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>[]> {
    const { limitMs = LIMIT_MS, log } = this.options;
    const kept = this.#takeIdle();
    let outcome = kept && await this.#ask(kept, request, signal);
    // One that ended while it had nothing to do says nothing about the query.
    if (!outcome || outcome.kind === "gone") {
      outcome = await this.#ask(this.#start(), request, signal);
    }
    switch (outcome.kind) {
      case "rows":
        return outcome.documents;
      case "refused":
        throw refusal(
          "QUERY_WRONG",
          { problem: outcome.message },
          `the query is wrong: ${outcome.message}`,
          Code.InvalidArgument,
        );
      case "too-large":
        throw refusal("QUERY_LARGE", {}, outcome.message, Code.ResourceExhausted);
      case "too-slow":
        throw refusal(
          "QUERY_SLOW",
          { seconds: limitMs / 1_000 },
          `the query took longer than ${limitMs / 1_000} s and was terminated; narrow it: name a ` +
            "component_name, and a span of received_us (microseconds since 1970)",
          Code.DeadlineExceeded,
        );
      case "damaged":
        log.error("a file of old readings is damaged", {
          event: "archive_damaged",
          reason: outcome.message,
        });
        throw refusal("FILE_GONE", { id: outcome.id }, outcome.message, Code.DataLoss);
      case "failed":
      case "gone":
        log.warn("a query of data failed", { reason: outcome.message });
        throw new ConnectError(
          "the query failed, and the cloud's log says why. Try again",
          Code.Unavailable,
        );
    }
  }

  async #ask(
    child: QueryChild,
    request: QueryRequest,
    signal: AbortSignal,
  ): Promise<QueryResult> {
    const { limitMs = LIMIT_MS, limitBytes = LIMIT_BYTES, clock, reader, objectStorage } =
      this.options;
    const remote = reader === undefined ? undefined : { reader, limitMs };
    this.#running.add(child);
    try {
      await this.#untilReady(child);
      const objects = objectStorage && inClear(objectStorage);
      return await child.ask({ ...request, remote, objects }, {
        limitMs,
        limitBytes,
        clock,
        signal,
      });
    } finally {
      this.#running.delete(child);
      await this.#giveBack(child);
    }
  }

  async #untilReady(child: QueryChild): Promise<void> {
    try {
      await withDeadline(() => child.ready(), {
        clock: this.options.clock,
        deadlineMs: START_MS,
        what: "the start of the process that runs queries",
      });
    } catch (error) {
      await child.kill();
      this.options.log.error("cannot start the process that runs queries", {
        event: "query_process_failed",
        error: String(error),
      });
      throw new ConnectError("cannot start the process that runs queries", Code.Unavailable);
    }
  }

  #takeIdle(): QueryChild | undefined {
    const waiting = this.#idle.pop();
    waiting?.timer.cancel();
    return waiting?.child;
  }

  #start(): QueryChild {
    if (this.#isClosed) throw new ConnectError("the cloud is shutting down", Code.Unavailable);
    return QueryChild.start(this.options.program, this.options.dataDir);
  }

  async #giveBack(child: QueryChild): Promise<void> {
    if (this.#isClosed || !child.isUsable) return await child.kill();
    const timer = this.options.clock.setTimer(IDLE_MS, () => {
      const at = this.#idle.findIndex((one) => one.child === child);
      if (at >= 0) this.#idle.splice(at, 1);
      void child.kill();
    });
    this.#idle.push({ child, timer });
  }
}

function inClear({ secretAccessKey, sessionToken, ...settings }: S3Settings): ObjectStorage {
  return {
    ...settings,
    secretAccessKey: secretAccessKey.reveal(),
    sessionToken: sessionToken?.reveal(),
  };
}
