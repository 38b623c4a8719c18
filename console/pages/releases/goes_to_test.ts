import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import assert from "node:assert/strict";
import { ReleaseSchema, Rollout_State } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { fill } from "../../texts/text.ts";
import { goesTo, isStopped } from "./goes_to.ts";

const release = (fields: MessageInitShape<typeof ReleaseSchema>) => create(ReleaseSchema, fields);
const said = (fields: MessageInitShape<typeof ReleaseSchema>) =>
  goesTo(release(fields), (text, values) => fill(text[0], values ?? {}, "en"));

Deno.test("goesTo() says who gets a release", () => {
  const stopped = { percent: 50, state: Rollout_State.STOPPED, reason: "2 of 5 rolled back" };
  assert.equal(said({}), "all on its channel");
  assert.equal(said({ withdrawnAt: timestampNow() }), "withdrawn; machines keep it");
  assert.equal(
    said({ withdrawnAt: timestampNow(), goesBack: true }),
    "withdrawn; machines go back",
  );
  assert.equal(said({ rollout: { percent: 5, tags: ["a"] } }), "5 % of the machines and tag a");
  assert.equal(said({ rollout: { tags: ["a", "b"] } }), "tag a and tag b");
  assert.equal(said({ rollout: {} }), "0 % of the machines");
  assert.equal(
    said({ rollout: { percent: 50, state: Rollout_State.PAUSED } }),
    "paused at 50 % of the machines",
  );
  assert.equal(said({ rollout: stopped }), "stopped at 50 % of the machines: 2 of 5 rolled back");
  assert.equal(isStopped(release({ rollout: stopped })), true);
  assert.equal(isStopped(release({ rollout: stopped, withdrawnAt: timestampNow() })), false);
});
