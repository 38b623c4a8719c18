import assert from "node:assert/strict";
import { runPython } from "../e2e/python_sdk.ts";
import { rigTest } from "../e2e/rig.ts";
import { giveAccounts, PASSWORD, setPasswords } from "./people_rig.ts";
import { FakeMailServer } from "../../cloud/triggers/mail/fake_mail_server.ts";

/** Some hundred calls, next to other tests. */
const PATIENCE_MS = 300_000;

/** What `app_tour.py` found. */
interface Tour {
  /** Cases that did not go as they should, with where. */
  failures: string[];
  /** Calls of the SDK that the tour did not make, by client. */
  app: string[];
  billing: string[];
  made: number;
}

rigTest(
  "every call of the Python SDK's AppClient does what its documentation says",
  async (rig) => {
    await using mail = await FakeMailServer.start();
    await rig.bootstrap();
    const links = await giveAccounts(rig, ["ann@example.com", "bob@example.com"]);
    await rig.startCloud(["--smtp-url", mail.url]);
    await rig.startServer();
    await setPasswords(rig, links);
    const { api_key_id, api_key, org_id } = rig.bootstrapped;
    const { stdout } = await runPython(
      new URL("app_tour.py", import.meta.url),
      [
        `127.0.0.1:${rig.cloudPort}`,
        ...[api_key_id, api_key, org_id, rig.partId, PASSWORD],
      ],
      {},
      PATIENCE_MS,
    );
    // The SDK's native library writes its own log to standard output before.
    const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
    const { failures, app, billing, made } = JSON.parse(last) as Tour;
    assert.equal(failures.join("\n"), "");
    assert.deepEqual({ app, billing }, { app: [], billing: [] }, "give them a case in app_*.py");
    assert.ok(made >= 90, `${made}`);
    // One of the invitation, one that was sent again, and none to who was invited without.
    assert.deepEqual(mail.mails.map(({ to }) => to), [["cleo@example.com"], ["cleo@example.com"]]);
  },
);
