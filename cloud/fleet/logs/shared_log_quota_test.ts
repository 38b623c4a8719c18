import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { NodesRig, type TestNode } from "../../nodes/nodes_testing.ts";
import { LogQuota } from "./log_quota.ts";
import { shareQuota } from "./shared_log_quota.ts";

/** A second gives back two bytes of it: nothing within the test. */
const LIMITS = { bytesPerSecond: 2, burstBytes: 100_000, keptBytes: 1e9 };

Deno.test({
  name: "nodes count together what a part logs, also one that comes later",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using rig = await NodesRig.start();
    await using shared = new AsyncDisposableStack();
    const join = ({ nodes, log }: TestNode) => {
      const quota = new LogQuota(LIMITS, systemClock);
      shared.use(shareQuota(quota, { nodes, log, clock: systemClock }));
      return quota;
    };
    /** How many lines of 1,004 bytes it takes. */
    const admit = (quota: LogQuota, level: string, count: number) => {
      const line = create(LogEntrySchema, { level, message: "x".repeat(744) });
      return quota.admit("part", Array.from({ length: count }, () => line)).length;
    };
    const [first, second] = [await rig.join(), await rig.join()];
    await waitFor(() => [first, second].every(({ nodes }) => nodes.members().length === 2), {
      deadlineMs: 60_000,
    });
    const quotas = [join(first), join(second)] as const;
    assert.equal(admit(quotas[0], "info", 60), 60);
    const left = (quota: LogQuota) => quota.all().find(({ part }) => part === "part")?.left ?? 1e9;
    await waitFor(() => left(quotas[1]) < 41_000, { deadlineMs: 60_000 });
    assert.equal(admit(quotas[1], "info", 60), 15, "the last quarter is for errors");
    await waitFor(() => left(quotas[0]) < 26_000, { deadlineMs: 60_000 });
    assert.equal(admit(quotas[0], "info", 1), 0);

    const third = await rig.join();
    await waitFor(() => third.nodes.members().length === 3, { deadlineMs: 60_000 });
    const late = join(third);
    await waitFor(() => left(late) < 26_000, { deadlineMs: 60_000 });
    const errors = admit(late, "error", 60);
    assert.ok(errors >= 24 && errors <= 26, `${errors} errors`);
    await waitFor(() => quotas.every((quota) => left(quota) < 1_000), { deadlineMs: 60_000 });
  },
});
