import { type FlagValues, UsageError } from "../../../shared/base/flags/flags.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { recordCommand } from "../../accounts/audit/audit_log.ts";
import { Invitations } from "../../accounts/invitations/invitations.ts";
import { emailProblem, normalEmail } from "../../accounts/people/emails.ts";
import { findOrCreateUser, giveRole, userByEmail } from "../../accounts/people/users.ts";
import { endAllIn } from "../../accounts/sessions/sessions.ts";
import { createLink, linkUrl } from "../../accounts/links/one_time_links.ts";
import { parsePublicUrl } from "../../api/addresses/addresses.ts";
import { DEFAULT_ADDRESS } from "../../api/addresses/defaults.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { LinkPurpose } from "../../storage/database/people_schema.ts";
import { readSetting } from "../../storage/database/settings.ts";
import type { Random } from "../../storage/keys/random.ts";
import { chosenOrganization } from "../owner/folder_owner.ts";
import type { peopleCommands } from "./people_flags.ts";

type Commands = typeof peopleCommands;

/** A command about people as it was typed. */
export type PeopleCommand = {
  readonly [Name in keyof Commands]: {
    readonly command: Name;
    readonly values: FlagValues<Commands[Name]["flags"]>;
    readonly arguments: readonly string[];
  };
}[keyof Commands];

export interface PeopleDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Does what the command line requests next to a running `serve`, which learns of it within half a
 * second, and gives back what to print.
 *
 * @throws {UsageError} for an address that is none or that nobody here has; {FileError}, {StoreError}
 */
export async function runPeopleCommand(parsed: PeopleCommand, deps: PeopleDeps): Promise<string> {
  const email = normalEmail(parsed.arguments[0] ?? "");
  const problem = emailProblem(email);
  if (problem) throw new UsageError(`EMAIL: ${problem}`);
  const folder = await openDataFolder(parsed.values.data, deps.random);
  const { queries } = folder.database;
  const link = async (page: Parameters<typeof linkUrl>[1], token: string) =>
    `${linkUrl(await addressOf(queries, parsed.values["public-url"]), page, token)}\n`;
  try {
    switch (parsed.command) {
      case "owner add": {
        const orgId = await chosenOrganization(queries, parsed.values.org);
        const token = await addOwner(queries, { email, orgId }, deps);
        const done = `${email} is owner of the organisation ${orgId}\n`;
        if (token === undefined) return done;
        return `${done}To set a password, open within a day:\n${await link("password", token)}`;
      }
      case "sign-in-link":
        return await link("link", await signInLink(queries, email, deps));
      case "reset-password": {
        const removes = parsed.values["remove-second-factor"];
        if (removes) await removeSecondFactor(queries, email, deps);
        return await link(
          "password",
          await linkFor(queries, { email, purpose: "set-password" }, deps),
        );
      }
      case "invitation link": {
        const orgId = await chosenOrganization(queries, parsed.values.org);
        const invitations = new Invitations({
          ...{ queries, changes: NO_LISTENERS, sendMail: undefined, ...deps },
          publicUrl: () => "",
        });
        if (!await invitations.of(orgId, email)) {
          throw new UsageError(`${email} is not invited into the organisation ${orgId}`);
        }
        return await link("invitation", await invitations.renew({ orgId, email }));
      }
    }
  } finally {
    folder.database.close();
  }
}

const NO_LISTENERS = { drain: () => Promise.resolve() };

/** Where the cloud is reached, as far as is known. */
export async function addressOf(queries: Queries, publicUrl: string | undefined): Promise<string> {
  if (publicUrl !== undefined) return parsePublicUrl(publicUrl);
  return await readSetting(queries, "public_url") ?? `http://${DEFAULT_ADDRESS}`;
}

/**
 * Makes somebody owner of an organisation. Gives the token of a link to set a password, when there
 * is none yet.
 */
export async function addOwner(
  queries: Queries,
  { email, orgId }: { readonly email: string; readonly orgId: string },
  { clock, random }: PeopleDeps,
): Promise<string | undefined> {
  return await queries.transaction().execute(async (transaction) => {
    const now = clock.now();
    const user = await findOrCreateUser(transaction, { email }, { random, now });
    const grant = { role: "owner", resource: "organization", id: orgId } as const;
    await giveRole(transaction, { userId: user.id, orgId, grant }, now);
    const target = { email, organization_id: orgId };
    await recordCommand(transaction, { orgId, action: "owner add", target }, now);
    if (user.password_hash !== null) return undefined;
    const link = { userId: user.id, purpose: "set-password" } as const;
    return await createLink(transaction, link, { random, now });
  });
}

/**
 * The token of a link that signs a person in, in place of the one before.
 *
 * @throws {UsageError} when nobody has the address
 */
export async function signInLink(
  queries: Queries,
  email: string,
  deps: PeopleDeps,
): Promise<string> {
  return await linkFor(queries, { email, purpose: "sign-in" }, deps);
}

async function linkFor(
  queries: Queries,
  { email, purpose }: { readonly email: string; readonly purpose: LinkPurpose },
  { clock, random }: PeopleDeps,
): Promise<string> {
  return await queries.transaction().execute(async (transaction) => {
    const now = clock.now();
    const { id } = await knownUser(transaction, email);
    await recordForAll(transaction, id, { action: `${purpose} link`, target: { email } }, now);
    return await createLink(transaction, { userId: id, purpose }, { random, now });
  });
}

async function removeSecondFactor(
  queries: Queries,
  email: string,
  { clock }: PeopleDeps,
): Promise<void> {
  await queries.transaction().execute(async (transaction) => {
    const now = clock.now();
    const { id } = await knownUser(transaction, email);
    await recordForAll(transaction, id, { action: "remove second factor", target: { email } }, now);
    await transaction.updateTable("users").set({ totp_enabled: 0, totp_last_step: 0 })
      .where("id", "=", id).execute();
    await transaction.deleteFrom("recovery_codes").where("user_id", "=", id).execute();
    await endAllIn(transaction, id, now);
  });
}

/** In the audit log of each organisation of a person. */
async function recordForAll(
  queries: Queries,
  userId: string,
  what: { readonly action: string; readonly target: object },
  now: Date,
): Promise<void> {
  const orgs = await queries.selectFrom("user_grants").select("org_id").distinct()
    .where("user_id", "=", userId).execute();
  for (const { org_id: orgId } of orgs) await recordCommand(queries, { ...what, orgId }, now);
}

async function knownUser(queries: Queries, email: string) {
  const user = await userByEmail(queries, email);
  if (user) return user;
  throw new UsageError(`nobody here has the address ${email}; see machine-cloud owner add --help`);
}
