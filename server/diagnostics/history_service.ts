/** `machine.server.v1.DiagnosticsService`: what capture noted, for those who look at the machine. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { setImmediate } from "node:timers";
import {
  type DiagnosticsService,
  GetHistoryResponseSchema,
} from "../../shared/gen/machine/server/v1/diagnostics_pb.ts";
import type { Clock } from "../../shared/base/time/clock.ts";

const DEFAULT_SPAN_MS = 3_600_000;
const DEFAULT_POINTS = 300;
const MOST_POINTS = 1_000;
const MOST_NAMES = 50;
/** Calls at the same time; each reads up to {@link DEFAULT_FILE_LIMITS}, one file after the other. */
const MOST_CALLS = 4;

export interface HistoryServiceOptions {
  /** Where capture writes; undefined: nothing is captured. */
  readonly folder: () => string | undefined;
  readonly clock: Clock;
}

export function historyService(
  { folder, clock }: HistoryServiceOptions,
): ServiceImpl<typeof DiagnosticsService> {
  let calls = 0;
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    async getHistory(request, { signal }) {
      const end = request.end ? timestampMs(request.end) : clock.now().getTime();
      const start = request.start ? timestampMs(request.start) : end - DEFAULT_SPAN_MS;
      const points = request.points === 0 ? DEFAULT_POINTS : request.points;
      const { names } = request;
      if (!(start < end)) throw wrong("start has to be before end");
      if (points < 1 || points > MOST_POINTS) throw wrong(`points has to be 1 to ${MOST_POINTS}`);
      if (names.length > MOST_NAMES) throw wrong(`names has to be ${MOST_NAMES} at most`);
      const from = folder();
      if (from === undefined) {
        throw new ConnectError(
          "machine-server captures nothing: start it without -ftdc=false",
          Code.FailedPrecondition,
        );
      }
      if (calls >= MOST_CALLS) {
        throw new ConnectError("too many ask for the history; try again", Code.ResourceExhausted);
      }
      calls++;
      try {
        const { readHistory } = await import("./ftdc/history.ts");
        const series = await readHistory(from, { start, end, names, points }, turn, signal);
        return create(GetHistoryResponseSchema, {
          start: timestampFromMs(start),
          stepSeconds: (end - start) / points / 1_000,
          series: series.map(({ name, mean, least, most }) => ({
            name,
            mean: [...mean],
            least: [...least],
            most: [...most],
          })),
        });
      } finally {
        calls--;
      }
    },
  };
}

function wrong(text: string): ConnectError {
  return new ConnectError(text, Code.InvalidArgument);
}
