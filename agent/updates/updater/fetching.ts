import { toError } from "../../../shared/base/errors/to_error.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import type { InstalledVersion } from "../../state/agent_state.ts";
import { isPermanent } from "./downloads.ts";
import { Delay } from "./orders.ts";
import { isSameTarget, type Target, versionName } from "./target.ts";
import type { UpdateParts } from "./update_parts.ts";

const DAY_MS = 24 * 3_600_000;

/** The states in which a version is looked for: idle, held and downloading. */
export class Fetching {
  readonly #refused: Delay;
  readonly #refusedBackoff: Backoff;
  /** What {@link #refused} is about. */
  #refusedTarget: Target | undefined;

  constructor(private readonly parts: UpdateParts) {
    const { clock, orders, limits } = parts;
    this.#refused = new Delay(clock, orders);
    this.#refusedBackoff = new Backoff({ minMs: limits.refusedRetryMs, maxMs: DAY_MS });
  }

  /** The current version is the wanted one; an address without a known hash may change its mind. */
  async rest(target: Target | undefined, signal: AbortSignal): Promise<void> {
    const { limits, log, slot, orders, keeper } = this.parts;
    if (!target || target.sha256 !== "" || target.problem !== undefined) {
      return await this.#news(signal);
    }
    // The caller looks for another stamp.
    if (target.url.startsWith("file:")) return await orders.pause(limits.askEveryMs, signal);
    await orders.pause(limits.recheckMs, signal);
    if (orders.hasNews) return;
    try {
      const installed = await this.#obtain(target, target.url, signal);
      if (installed) keeper.apply({ type: "fetched", installed });
    } catch (error) {
      if (signal.aborted || !isDownloadError(error)) throw error;
      log.debug(`${slot.program}: cannot check for another version`, { error: error.message });
    }
  }

  /** What was wanted cannot be had. */
  async hold(isBad: boolean, target: Target | undefined, signal: AbortSignal): Promise<void> {
    const { limits, orders, keeper } = this.parts;
    this.#follow(target);
    const isLocal = target?.url.startsWith("file:") === true;
    if (!this.#refused.isSet) {
      const mayChange = isBad && target?.sha256 === "";
      if (!mayChange && !isLocal) return await this.#news(signal);
      if (!mayChange) return await orders.pause(limits.askEveryMs, signal);
      this.#refused.set(limits.refusedRetryMs);
    }
    const { leftMs } = this.#refused;
    if (leftMs > 0) {
      const shortMs = isLocal ? Math.min(leftMs, limits.askEveryMs) : leftMs;
      return await orders.pause(shortMs, signal);
    }
    this.#refused.clear();
    keeper.apply({ type: "done" });
  }

  /** Brings the target into the cache. @returns whether it is there. */
  async download(
    target: Target,
    current: InstalledVersion | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { slot, log, limits, orders, keeper, shown } = this.parts;
    this.#follow(keeper.record?.target);
    if (await isRefused(this.parts, target, current)) return false;
    try {
      const installed = await this.#obtain(target, orders.addressOf(target), signal);
      if (!installed) return false;
      shown.fail("");
      keeper.apply({ type: "fetched", installed });
      return true;
    } catch (error) {
      if (signal.aborted || !isDownloadError(error)) throw error;
      const reason = error.message;
      const version = versionName(target);
      shown.fail(reason);
      if (!isPermanent(error)) {
        log.warn(`${slot.program} ${version} cannot be had now`, {
          event: "update_waits",
          error: reason,
        });
        await orders.pause(limits.askEveryMs, signal);
        return false;
      }
      log.error(`${slot.program} ${version} is refused`, {
        event: "update_refused",
        error: reason,
      });
      this.#refused.set(this.#refusedBackoff.next());
      keeper.apply({ type: "refused", reason });
      return false;
    }
  }

  /** What was refused before says nothing about another target. */
  #follow(target: Target | undefined): void {
    if (isSameTarget(this.#refusedTarget, target)) return;
    this.#refusedTarget = target;
    this.#refusedBackoff.reset();
    this.#refused.clear();
  }

  /** Something is ordered, or it is time to try the disk again. */
  async #news(signal: AbortSignal): Promise<void> {
    const { orders, keeper, limits } = this.parts;
    if (keeper.isUnsaved) return await orders.pause(limits.swapRetryMs, signal);
    await orders.news(signal);
  }

  /** Undefined when something was ordered first: it may have been to cancel. */
  async #obtain(
    target: Target,
    address: string,
    signal: AbortSignal,
  ): Promise<InstalledVersion | undefined> {
    const { slot, downloader, shown } = this.parts;
    const { version, url, sha256, size, stamp } = target;
    const rest = linkedController(signal);
    const obtained = downloader.obtain(
      {
        program: slot.program,
        version,
        url: address,
        sha256: sha256 || undefined,
        size: size || undefined,
      },
      ({ bytesDownloaded, totalBytes, error = "" }) => {
        shown.fail(error);
        shown.progressed(bytesDownloaded, totalBytes);
      },
      rest.signal,
    );
    const ordered = this.#news(rest.signal).then(() => undefined, () => undefined);
    try {
      const file = await Promise.race([obtained, ordered]);
      if (!file) return undefined;
      const stamped = stamp === undefined ? {} : { stamp };
      return { version, url, path: file.path, sha256: file.sha256, ...stamped };
    } catch (error) {
      if (signal.aborted) throw error;
      throw new FailedDownload(error);
    } finally {
      rest.abort();
      await obtained.catch(() => {}); // reported above, or of no interest any more
    }
  }
}

/** Applies the rules of the machine's owner over whatever was decided before. */
export async function isRefused(
  { slot, policy, log, keeper }: UpdateParts,
  target: Target,
  current: InstalledVersion | undefined,
): Promise<boolean> {
  const reason = await policy.problemOf(slot.program, target, current?.version ?? "");
  if (reason === undefined) return false;
  log.error(`${slot.program} ${versionName(target)} is refused`, {
    event: "update_refused",
    error: reason,
  });
  keeper.apply({ type: "refused", reason });
  return true;
}

/** Distinguishes what the downloader threw from what a database or a bug did. */
class FailedDownload extends Error {
  readonly permanent: boolean;

  constructor(cause: unknown) {
    super(toError(cause).message, { cause });
    this.permanent = isPermanent(cause);
  }
}

const isDownloadError = (error: unknown): error is FailedDownload =>
  error instanceof FailedDownload;
