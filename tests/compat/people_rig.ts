/** People of a rig's cloud, with passwords. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Rig } from "../e2e/rig.ts";

export const PASSWORD = "a tour of all calls";

/**
 * Makes people owners of the rig's organisation, before its cloud serves.
 * @returns what they set their passwords with, see {@link setPasswords}
 */
export async function giveAccounts(rig: Rig, emails: readonly string[]): Promise<string[]> {
  const tokens: string[] = [];
  for (const email of emails) {
    const { stdout, stderr } = await rig.run("machine-cloud", [
      ...["owner", "add", email, "--data", join(rig.dir, "cloud")],
    ]);
    const [, token] = /\?token=(\S+)/.exec(stdout) ?? [];
    assert.ok(token, stdout + stderr);
    tokens.push(token);
  }
  return tokens;
}

/** Each of them has {@link PASSWORD} from now on. */
export async function setPasswords(rig: Rig, tokens: readonly string[]): Promise<void> {
  for (const token of tokens) await call(rig, "SetPassword", { token, password: PASSWORD });
}

/** Signs somebody in. @returns the access token */
export async function sessionOf(rig: Rig, email: string): Promise<string> {
  const answer = await call(rig, "SignIn", { email, password: PASSWORD });
  return (answer as { signedIn: { accessToken: string } }).signedIn.accessToken;
}

async function call(rig: Rig, method: string, body: object): Promise<unknown> {
  const answer = await fetch(`${rig.cloudUrl}/machine.cloud.v1.AccountService/${method}`, {
    signal: AbortSignal.timeout(60_000),
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text);
}
