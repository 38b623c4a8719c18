import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ConnectError, ServiceImpl } from "@connectrpc/connect";
import {
  type AppService,
  type GetRobotPartLogsRequest,
  LogOrder,
  TailRobotPartLogsResponseSchema,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { LogEntry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { TAIL_OPENED_HEADER } from "../../../shared/log/tail_opened.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { pageSize, pageToken, parsePageToken } from "../../api/paging/paging.ts";
import { type LogFilter, matcher } from "./log_filter.ts";
import { normalLevel } from "./log_level.ts";
import { type LogLine, toLogEntry } from "./log_line.ts";
import type { LogStore } from "./log_store.ts";
import type { LogTail } from "./log_tail.ts";

export interface LogMethodsOptions {
  readonly callers: Callers;
  readonly store: LogStore;
  readonly tail: LogTail;
  readonly clock: Clock;
}

const PAGE = 100;
const LARGEST_PAGE = 1_000;
/** Entries in one message of a tail. */
const TAIL_BATCH = 200;
/** How often a tail looks whether its caller still may read. */
const RECHECK_MS = 10_000;

/** The calls of AppService about logs. */
export function logMethods(
  { callers, store, tail, clock }: LogMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    async getRobotPartLogs(request, context) {
      const scope = await callers.scope(context);
      const part = await scope.part(request.id, "manage");
      const token = parsePageToken(request.pageToken, 2);
      const page = await store.read(part.id, {
        filter: filterOf(request),
        limit: pageSize(request.limit, PAGE, LARGEST_PAGE),
        after: token && { timeNs: token[0] ?? 0n, seq: token[1] ?? 0n },
        order: request.order === LogOrder.ASCENDING ? "oldest-first" : "newest-first",
      });
      return {
        logs: page.lines.map(toLogEntry),
        nextPageToken: page.next ? pageToken(page.next.timeNs, page.next.seq) : "",
      };
    },

    async *tailRobotPartLogs({ id, errorsOnly, filter }, context) {
      const scope = await callers.scope(context);
      const part = await scope.part(id, "manage");
      let { caller } = scope;
      const mayRead = async () => {
        const now = await callers.scope(context);
        if (now.caller !== caller) await now.part(id, "manage");
        caller = now.caller;
      };
      const levels = errorsOnly ? ["error"] : undefined;
      const matches = matcher({ text: filter, levels });
      let refused: ConnectError | undefined;
      const mailbox = tail.follow(part.id);
      const unwatch = callers.watch(mayRead, (error) => {
        refused = error;
        mailbox.close();
      });
      try {
        // Who also lists earlier lines does it after this.
        if (context.requestHeader.has(TAIL_OPENED_HEADER)) {
          yield create(TailRobotPartLogsResponseSchema);
        }
        while (!context.signal.aborted) {
          const waiting = await mailbox.take(clock, RECHECK_MS, context.signal);
          if (refused) throw refused;
          await mayRead();
          const lines = [...leftOutNotice(mailbox.takeLeftOut(), clock), ...waiting];
          const logs: LogEntry[] = lines.filter(matches).map(toLogEntry);
          for (let at = 0; at < logs.length; at += TAIL_BATCH) {
            yield create(TailRobotPartLogsResponseSchema, {
              logs: logs.slice(at, at + TAIL_BATCH),
            });
          }
        }
      } finally {
        unwatch();
        mailbox.close();
      }
    },
  };
}

function filterOf(request: GetRobotPartLogsRequest): LogFilter {
  const levels = request.levels.map(normalLevel);
  return {
    levels: request.errorsOnly ? [...levels, "error"] : levels,
    text: request.filter,
    source: request.source,
    fromNs: request.start && nanoseconds(request.start),
    toNs: request.end && nanoseconds(request.end),
  };
}

function nanoseconds(time: Timestamp): bigint {
  return time.seconds * 1_000_000_000n + BigInt(time.nanos);
}

function leftOutNotice(count: number, clock: Clock): LogLine[] {
  if (count === 0) return [];
  return [{
    timeNs: BigInt(clock.now().getTime()) * 1_000_000n,
    digest: 0,
    level: "warn",
    logger: "machine-cloud.logs",
    message: `${count} lines are not shown because they came faster than you read them`,
    host: "",
    caller: null,
    stack: null,
    fields: null,
  }];
}
