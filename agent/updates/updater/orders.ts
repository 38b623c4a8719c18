import type { Clock } from "../../../shared/base/time/clock.ts";
import { anyChange, Watched } from "../../../shared/workers/watched.ts";
import type { InstalledVersion } from "../../state/agent_state.ts";
import { isSameTarget, type Target } from "./target.ts";
import type { UpdateEvent } from "./update_machine.ts";

/** What the cloud and the operator want of one program's update. */
export class Orders {
  /** The install that is ready is to be made although the window is closed, once. */
  isForced = false;
  /** Undefined: the cloud was not learned of in this run. */
  wish: { readonly target: Target | undefined } | undefined;
  /** Events that people caused, or a file that is lost, and that are not in the record yet. */
  readonly inbox: UpdateEvent[] = [];
  #hurries = 0;
  readonly #changes = new Watched(0);
  /** Of {@link #changes}; what came later is news. */
  #seen = 0;

  constructor(private readonly clock: Clock) {}

  /** What the cloud wants; undefined when it names nothing. */
  setTarget(target: Target | undefined): void {
    const isNews = !this.wish || !isSameTarget(this.wish.target, target);
    this.wish = { target };
    if (isNews) this.#changes.value++;
  }

  /** Installs what is ready although the window is closed, once. */
  force(): void {
    this.isForced = true;
    this.#hurry();
  }

  /** Lets a bad version be tried again; all of them without a name. */
  forgetBad(version?: string): void {
    this.inbox.push({ type: "forget-bad", version });
    this.#hurry();
  }

  /** The file of the version in use is gone; `other`: the one before, where that is there. */
  lose(other: InstalledVersion | undefined): void {
    this.inbox.push({ type: "lost", other });
    this.#hurry();
  }

  /** Grows with each command of a person, after which no {@link Delay} from before counts. */
  get hurries(): number {
    return this.#hurries;
  }

  /** The cloud's newest link to a file, when the content is known: links expire. */
  addressOf({ url, sha256 }: Target): string {
    const wish = this.wish?.target;
    return wish && sha256 !== "" && wish.sha256 === sha256 ? wish.url : url;
  }

  /** A turn begins: what came before is taken into account by it. */
  begin(): void {
    this.#seen = this.#changes.value;
  }

  /** Something was ordered since the turn began. */
  get hasNews(): boolean {
    return this.#changes.value !== this.#seen;
  }

  /** Resolves when something is ordered; rejects with the signal's reason. */
  async news(signal: AbortSignal): Promise<void> {
    if (!this.hasNews) await this.#changes.changed(signal);
  }

  /** Until something is ordered or one of `also` is set, at most so long. */
  async pause(
    ms: number,
    signal: AbortSignal,
    also: readonly Watched<unknown>[] = [],
  ): Promise<void> {
    if (this.hasNews) return;
    await anyChange([this.#changes, ...also], signal, { clock: this.clock, ms });
  }

  #hurry(): void {
    this.#hurries++;
    this.#changes.value++;
  }
}

/** A time to wait for, unless a person is in a hurry. */
export class Delay {
  #untilMs: number | undefined;
  #hurries = 0;

  constructor(private readonly clock: Clock, private readonly orders: Orders) {}

  get isSet(): boolean {
    return this.#untilMs !== undefined;
  }

  /** What is left of it; 0 when none is set. */
  get leftMs(): number {
    if (this.#untilMs === undefined || this.#hurries !== this.orders.hurries) return 0;
    return Math.max(0, this.#untilMs - this.clock.monotonicMs());
  }

  set(ms: number): void {
    this.#untilMs = this.clock.monotonicMs() + ms;
    this.#hurries = this.orders.hurries;
  }

  clear(): void {
    this.#untilMs = undefined;
  }
}
