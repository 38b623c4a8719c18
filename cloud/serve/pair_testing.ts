import { type Clock, systemClock } from "../../shared/base/time/clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import type { RtcPeers } from "../../shared/rtc/webrtc/peer.ts";
import { PostgresServer } from "../../shared/test_tools/postgres_server.ts";
import type { SingleSignOnSettings } from "../accounts/single_sign_on/settings.ts";
import { TestCloud } from "./cloud_testing.ts";
import type { TrainingSettings } from "./training_settings.ts";

/** How long something may take between two nodes until a test fails. */
export const DEADLINE = { deadlineMs: 60_000 };

/** Two nodes of one cloud in this process; programs call `one`, machines `other`. For tests. */
export class Pair implements AsyncDisposable {
  private constructor(
    readonly server: PostgresServer,
    readonly one: TestCloud,
    readonly other: TestCloud,
  ) {}

  static async open(
    clock: Clock = systemClock,
    options: {
      readonly training?: TrainingSettings;
      readonly singleSignOn?: SingleSignOnSettings;
      readonly peers?: RtcPeers;
      /** Of the host of the first one; left out: as it is. */
      readonly clockOfOne?: Clock;
    } = {},
  ): Promise<Pair> {
    const server = await PostgresServer.start();
    const database = server.address("pool=4");
    const common = { database, notifications: { allowPrivateWebhooks: true }, ...options };
    const one = await TestCloud.open({ ...common, clock: options.clockOfOne ?? systemClock });
    const other = await TestCloud.open({ ...common, nodeOf: one, clock });
    await waitFor(() => one.services.nodes.members().length === 2, DEADLINE);
    return new Pair(server, one, other);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.other[Symbol.asyncDispose]();
    await this.one[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}
