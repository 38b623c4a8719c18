/** Runs one constructor with a time limit and sees to it that a late result is closed. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { formatGoDuration } from "../../../shared/base/time/duration.ts";
import type { ModelRegistry } from "./registry.ts";
import type { Resource } from "./resource.ts";
import type { TargetNode } from "./target.ts";

/** A constructor did not end in time. */
class BuildTimeoutError extends Error {
  override readonly name = "BuildTimeoutError";
}

export interface BuildRequest {
  target: TargetNode;
  registry: ModelRegistry;
  /** By full name. */
  dependencies: ReadonlyMap<string, Resource>;
  log: Logger;
  clock: Clock;
  timeoutMs: number;
  /** Called once with the resource, unless {@link BuildRequest.onFailure} is. */
  onSuccess: (resource: Resource) => void;
  /** Called once when the constructor throws or takes too long; not after `abandon`. */
  onFailure: (error: unknown) => void;
}

/** A constructor at work. */
export interface StartedBuild {
  /** Nobody wants the result any more: aborts the constructor's signal, closes what it makes. */
  abandon(reason: string): void;
  /** Resolves when the constructor has ended, whichever way. Never rejects. */
  readonly ended: Promise<void>;
}

/** Starts the constructor of a resource. */
export function startBuild(request: BuildRequest): StartedBuild {
  const { target, clock, log, timeoutMs } = request;
  const controller = new AbortController();

  const timer = clock.setTimer(timeoutMs, () => {
    const limit = formatGoDuration(timeoutMs);
    const error = new BuildTimeoutError(
      `resource ${target.key} timed out after ${limit} during reconfigure`,
    );
    controller.abort(error);
    request.onFailure(error);
  });

  const ended = (async () => {
    let resource: Resource;
    try {
      const { spec } = target;
      const construction = {
        name: spec.name,
        fullName: target.key,
        attributes: spec.attributes,
        spec,
        dependencies: request.dependencies,
        log,
        signal: controller.signal,
      };
      const builder = spec.builtBy ?? request.registry.find(spec.api, spec.model);
      resource = await builder.construct(construction);
    } catch (error) {
      timer.cancel();
      if (!controller.signal.aborted) request.onFailure(error);
      return;
    }
    timer.cancel();
    if (!controller.signal.aborted) return request.onSuccess(resource);
    log.warn(
      `the constructor of ${target.key} finished after it was cancelled; closing what it made`,
    );
    try {
      await resource.close?.();
    } catch (error) {
      log.warn(`closing the late ${target.key} failed: ${toError(error).message}`);
    }
  })();

  return {
    ended,
    abandon(reason) {
      timer.cancel();
      controller.abort(new Error(reason));
    },
  };
}
