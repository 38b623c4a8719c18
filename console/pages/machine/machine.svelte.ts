import type { GetPartLiveStatusResponse } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { Robot, RobotPart } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { app, consoleApi } from "../../api/clients.ts";
import { isSignedOut, isUnreachable } from "../../api/errors.ts";
import { connection } from "../../api/follow.svelte.ts";

const LOOK_EVERY_MS = 1_000;
const LONGEST_PAUSE_MS = 8_000;

/** A machine that is looked at: what it is, its parts, and how its part stands now. */
export class OpenMachine {
  robot = $state.raw<Robot>();
  parts = $state.raw<readonly RobotPart[]>([]);
  /** Of the part that is looked at; undefined until the first answer. */
  live = $state.raw<GetPartLiveStatusResponse>();
  /** The machine cannot be shown. */
  error = $state.raw<unknown>();
  /** Name or id of the part that is looked at; empty: the main one. */
  wantedPart = $state("");
  readonly part = $derived(
    this.parts.find(({ id }) => id === this.wantedPart) ??
      this.parts.find(({ mainPart }) => mainPart) ?? this.parts[0],
  );

  constructor(readonly id: string) {}

  /** Reads the machine and its parts. */
  async load(): Promise<void> {
    this.error = undefined;
    try {
      const [{ robot }, { parts }] = await Promise.all([
        app.getRobot({ id: this.id }),
        app.getRobotParts({ robotId: this.id }),
      ]);
      this.robot = robot;
      this.parts = parts;
    } catch (error) {
      this.error = error;
    }
  }

  /** Looks at a part each second, which has its server report; the returned function ends that. */
  watch(partId: string): () => void {
    const stop = new AbortController();
    let isLost = false;
    const setLost = (lost: boolean): void => {
      if (lost !== isLost) connection.change(lost ? 1 : -1);
      isLost = lost;
    };
    this.live = undefined;
    const run = async (): Promise<void> => {
      let pauseMs = LOOK_EVERY_MS;
      while (!stop.signal.aborted) {
        try {
          if (!document.hidden) {
            const live = await consoleApi.getPartLiveStatus({ partId }, { signal: stop.signal });
            if (stop.signal.aborted) break;
            this.live = live;
          }
          setLost(false);
          pauseMs = LOOK_EVERY_MS;
        } catch (error) {
          if (stop.signal.aborted) break;
          if (isSignedOut(error)) break;
          if (isUnreachable(error)) setLost(true);
          else {
            this.error = error;
            break;
          }
          pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
        }
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
      setLost(false);
    };
    void run();
    return () => {
      stop.abort();
      setLost(false);
    };
  }
}
