/** Asking a module whether it is ready. */
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { type HandlerMap, ModuleService } from "../../../shared/gen/viam/module/v1/module_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { reasonOf } from "../../resources/graph/errors.ts";

/** One question may take this long. */
const READY_CALL_MS = 3_000;
/** From one answer to the next question. */
const READY_EVERY_MS = 200;

/** Codes of a module that is on its way. */
const PASSING: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.ResourceExhausted,
  Code.DeadlineExceeded,
  Code.Canceled,
]);

/** An API that a module serves, with the models it has of it. */
export interface ModuleApi {
  /** `rdk:component:sensor` */
  readonly api: string;
  /** `viam.component.sensor.v1.SensorService` */
  readonly serviceName: string;
  /** `namespace:family:name` each. */
  readonly models: readonly string[];
}

/**
 * Asks until the module reports that it is ready.
 *
 * @param parentAddress where the module reaches the server: the path of a socket, or host:port.
 * @throws the signal's reason; an error with the module's words when it refuses.
 */
export async function waitUntilReady(
  transport: Transport,
  parentAddress: string,
  { clock, log, signal }: { clock: Clock; log: Logger; signal: AbortSignal },
): Promise<ModuleApi[]> {
  const client = createClient(ModuleService, transport);
  const request = { parentAddress, rawParentAddress: parentAddress };
  for (;;) {
    try {
      const answer = await client.ready(request, { timeoutMs: READY_CALL_MS, signal });
      if (answer.ready) return apisOf(answer.handlermap, log);
    } catch (error) {
      signal.throwIfAborted();
      const { code } = ConnectError.from(error);
      if (!PASSING.has(code)) {
        throw new Error(`it answered Ready with an error: ${reasonOf(error)}`, { cause: error });
      }
    }
    await clock.sleep(READY_EVERY_MS, signal);
  }
}

function apisOf(map: HandlerMap | undefined, log: Logger): ModuleApi[] {
  const apis: ModuleApi[] = [];
  for (const { subtype, models } of map?.handlers ?? []) {
    const { namespace, type, subtype: kind } = subtype?.subtype ?? {};
    if (!namespace || !type || !kind || !subtype?.protoService) {
      log.warn("the module lists an API without a name or service; it is left out");
      continue;
    }
    apis.push({ api: `${namespace}:${type}:${kind}`, serviceName: subtype.protoService, models });
  }
  if (apis.length === 0) log.warn("the module is ready and has no models");
  return apis;
}
