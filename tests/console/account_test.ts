/** People's own accounts: password, second factor, sessions, and the links that lead to them. */
import assert from "node:assert/strict";
import { addOwner, runPeopleCommand } from "../../cloud/local/people/people_command.ts";
import { codeOf, stepAt } from "../../cloud/accounts/second_factor/totp.ts";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { AccountService } from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { type ConsolePage, type ConsoleRig, consoleTest } from "./console_rig.ts";

const EMAIL = "ann@example.com";
const PASSWORD = "correct horse battery";
const deps = { clock: systemClock, random: systemRandom };

/** Makes an owner next to the running cloud; gives the token to set a password with. */
async function makeOwner(rig: ConsoleRig): Promise<string> {
  const folder = await openDataFolder(rig.dataDir, systemRandom);
  try {
    const person = { email: EMAIL, orgId: rig.made.org_id };
    return await addOwner(folder.database.queries, person, deps) ?? "";
  } finally {
    folder.database.close();
  }
}

/** An owner with a password. */
async function owner(rig: ConsoleRig): Promise<void> {
  const token = await makeOwner(rig);
  await rig.client(AccountService).setPassword({ token, password: PASSWORD });
}

async function signIn(opened: ConsolePage, password: string, code?: string): Promise<void> {
  const { page } = opened;
  await page.getByLabel("E-mail address").fill(EMAIL);
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
  if (code === undefined) return;
  await page.getByLabel("Code of your authenticator").fill(code);
  await page.keyboard.press("Enter");
}

/** The secret of what an authenticator shows, of its text in base 32. */
function secretOf(text: string): Uint8Array {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...text].map((each) => letters.indexOf(each).toString(2).padStart(5, "0")).join("");
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => parseInt(byte, 2));
}

consoleTest(
  import.meta.url,
  "a person sets up a second factor, signs in with it and by a recovery code, and removes it",
  async (rig) => {
    await owner(rig);
    const opened = await rig.page();
    const { page } = opened;
    const dialog = page.getByRole("dialog");
    const press = (name: string) => dialog.getByRole("button", { name, exact: true }).click();
    const signOut = async () => {
      await page.getByRole("button", { name: "Account" }).click();
      await press("Sign out");
    };
    await opened.go("/account");
    await signIn(opened, "not that one");
    await page.getByText("The address, the password or the code is wrong").waitFor();
    opened.complaints.splice(0);
    await signIn(opened, PASSWORD);
    await page.getByText(EMAIL).waitFor();
    await page.getByText("Owner", { exact: true }).waitFor();
    await opened.inspect("account");

    await page.getByRole("button", { name: "Set up" }).click();
    await dialog.getByRole("img", { name: "QR code" }).waitFor();
    const secret = secretOf(await dialog.locator(".mono").innerText());
    assert.ok(secret.length >= 16);
    await dialog.getByLabel("Password").fill(PASSWORD);
    await dialog.getByLabel("Code that the app shows").fill("000000");
    await press("Turn on");
    await dialog.getByRole("alert").waitFor();
    opened.complaints.splice(0);
    await opened.inspect("account-second-factor");
    // The codes of three steps count, each once: that of the next one is left for signing in.
    const step = stepAt(new Date());
    await dialog.getByLabel("Code that the app shows").fill(codeOf(secret, step));
    await press("Turn on");
    await dialog.getByText("Keep your recovery codes").waitFor();
    const codes = await dialog.getByRole("listitem").allInnerTexts();
    assert.equal(codes.length, 10);
    await opened.inspect("account-recovery-codes");
    await press("I have kept them");
    await page.getByText("10 recovery codes are left").waitFor();

    await signOut();
    await signIn(opened, PASSWORD, codeOf(secret, Math.max(step + 1, stepAt(new Date()))));
    await page.getByText("10 recovery codes are left").waitFor();
    await signOut();
    await signIn(opened, PASSWORD, codes[0] ?? "");
    await page.getByText("9 recovery codes are left").waitFor();
    await signOut();
    await signIn(opened, PASSWORD, codes[0] ?? "");
    await page.getByText("The address, the password or the code is wrong").waitFor();
    opened.complaints.splice(0);
    await page.getByLabel("Code of your authenticator").fill(codes[1] ?? "");
    await page.keyboard.press("Enter");

    await page.getByRole("button", { name: "Remove" }).click();
    await dialog.getByLabel("Password").fill("not that one");
    await dialog.getByLabel("Code of your authenticator").fill(codes[2] ?? "");
    await press("Remove");
    await dialog.getByText("the password is wrong").waitFor();
    opened.complaints.splice(0);
    await dialog.getByLabel("Password").fill(PASSWORD);
    await press("Remove");
    await page.getByRole("button", { name: "Set up" }).waitFor();
  },
);

consoleTest(
  import.meta.url,
  "a person changes the password, sees the sessions and ends another, which is told so",
  async (rig) => {
    await owner(rig);
    const [first, second] = [await rig.page(), await rig.page()];
    await first.go("/account");
    await signIn(first, PASSWORD);
    const sessions = first.page.getByRole("list", { name: "Sessions" });
    await sessions.getByText("this browser").waitFor();
    const open = async () => {
      await second.go("/?q=rov");
      await signIn(second, PASSWORD);
      await second.page.getByRole("link", { name: "rover" }).waitFor();
      await first.page.reload();
      await sessions.getByRole("listitem").nth(1).waitFor();
    };
    const isTold = async () => {
      await second.page.getByText("Your session has ended. Sign in again.").waitFor();
      second.complaints.splice(0);
    };
    await open();
    await first.inspect("account-sessions");
    await sessions.getByRole("button", { name: "End the session" }).click();
    await first.page.getByText("1 session ended").waitFor();
    await isTold();
    await sessions.getByRole("listitem").nth(1).waitFor({ state: "detached" });
    assert.equal(await sessions.getByRole("listitem").count(), 1);
    await open();
    await first.page.getByRole("button", { name: "End all others" }).click();
    await isTold();

    await open();
    const dialog = first.page.getByRole("dialog");
    const press = (name: string) => dialog.getByRole("button", { name, exact: true }).click();
    await first.page.getByRole("button", { name: "Change password" }).click();
    await dialog.getByLabel("Present password").fill("not that one");
    await dialog.getByLabel("New password").fill("another long one");
    await press("Change password");
    await dialog.getByText("the password is wrong").waitFor();
    await dialog.getByLabel("Present password").fill(PASSWORD);
    await dialog.getByLabel("New password").fill("short");
    await press("Change password");
    await dialog.getByText("The password needs at least 8 characters").waitFor();
    first.complaints.splice(0);
    await first.inspect("account-password");
    await dialog.getByLabel("New password").fill("another long one");
    await press("Change password");
    await first.page.getByText("The password is changed.").waitFor();
    await isTold();
    await signIn(second, "another long one");
    await second.page.getByRole("link", { name: "rover" }).waitFor();
  },
);

consoleTest(
  import.meta.url,
  "an invitation link and a link to set a password lead into the console",
  async (rig) => {
    const { app, made, dataDir } = rig;
    const links = async (command: "invitation link" | "reset-password") => {
      const values = {
        ...{ data: dataDir, "public-url": rig.cloud.url, org: made.org_id },
        "remove-second-factor": false,
      };
      const parsed = { command, values, arguments: [EMAIL] };
      const printed = await runPeopleCommand(
        parsed as Parameters<typeof runPeopleCommand>[0],
        deps,
      );
      return new URL(printed.trim());
    };
    await app.createOrganizationInvite({
      organizationId: made.org_id,
      email: EMAIL,
      authorizations: [],
      sendEmailInvite: false,
    });
    const opened = await rig.page();
    const { page } = opened;
    const invitation = await links("invitation link");
    await opened.go(invitation.pathname + invitation.search);
    await page.getByRole("heading", { name: "Join Acme" }).waitFor();
    assert.deepEqual(await opened.axe(), []);
    await opened.picture("invitation");
    await page.getByLabel("New password").fill(PASSWORD);
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByRole("link", { name: "rover" }).waitFor();

    const other = await rig.page();
    await other.go("/account");
    await other.page.getByRole("button", { name: "Forgotten your password?" }).click();
    await other.page.getByText("This cloud sends no mail").waitFor();
    await other.inspect("sign-in-forgotten");
    const reset = await links("reset-password");
    await other.go(reset.pathname + reset.search);
    await other.page.getByLabel("New password").fill("short");
    await other.page.getByRole("button", { name: "Set the password" }).click();
    await other.page.getByText("it needs at least 8 characters").waitFor();
    other.complaints.splice(0);
    assert.deepEqual(await other.axe(), []);
    await other.picture("reset-link");
    await other.page.getByLabel("New password").fill("another long one");
    await other.page.getByRole("button", { name: "Set the password" }).click();
    await page.getByText("Your session has ended. Sign in again.").waitFor();
    opened.complaints.splice(0);
    await other.page.getByRole("link", { name: "Sign in" }).click();
    await other.page.getByLabel("E-mail address").fill(EMAIL);
    await other.page.getByLabel("Password").fill("another long one");
    await other.page.getByRole("button", { name: "Sign in" }).click();
    await other.page.getByRole("link", { name: "rover" }).waitFor();
  },
);

consoleTest(
  import.meta.url,
  "who is removed from the last organisation is told so on the pages",
  async (rig) => {
    await owner(rig);
    const { app, made } = rig;
    const opened = await rig.page();
    const { page } = opened;
    await opened.go("/registry");
    await signIn(opened, PASSWORD);
    await page.getByRole("heading", { name: "Registry", exact: true }).waitFor();
    const { members } = await app.listOrganizationMembers({ organizationId: made.org_id });
    const person = members.find(({ emails }) => emails.includes(EMAIL));
    await app.deleteOrganizationMember({
      ...{ organizationId: made.org_id, userId: person?.userId ?? "" },
    });
    for (const path of ["/registry", "/training", "/organization"]) {
      await opened.go(path);
      await page.getByText("You are in no organisation").waitFor();
      await page.getByText("Ask an owner to invite you.").waitFor();
    }
    await opened.inspect("account-no-organisation");
    opened.complaints.splice(0);
  },
);
