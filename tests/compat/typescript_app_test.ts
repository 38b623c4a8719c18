import assert from "node:assert/strict";
import { rigTest } from "../e2e/rig.ts";
import { giveAccounts, sessionOf, setPasswords } from "./people_rig.ts";
import { runTypescriptSdk } from "./typescript_sdk.ts";

/** What `app_tour.mjs` found. */
interface Tour {
  /** Cases that did not go as they should, with where. */
  failures: string[];
  /** Calls of the SDK's clients that the tour did not make. */
  uncalled: string[];
}

rigTest(
  "every call of the TypeScript SDK's clients of a cloud does what it is for",
  async (rig) => {
    await rig.bootstrap();
    const links = await giveAccounts(rig, ["ann@example.com", "bob@example.com"]);
    await rig.startCloud();
    await rig.startServer();
    await setPasswords(rig, links);
    const token = await sessionOf(rig, "ann@example.com");
    const { api_key_id, api_key, org_id } = rig.bootstrapped;
    const { failures, uncalled } = await runTypescriptSdk<Tour>("app_tour.mjs", [
      ...[rig.cloudUrl, api_key_id, api_key, org_id, rig.partId, token],
    ], 300_000);
    assert.equal(failures.join("\n"), "");
    assert.deepEqual(uncalled, [], "give them a case in typescript_sdk/*_cases.mjs");
  },
);
