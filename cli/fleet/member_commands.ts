import { ConnectError } from "@connectrpc/connect";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { chooseOrganization } from "../../shared/commands/choice/organization.ts";
import { textTable } from "../../shared/commands/output/text_table.ts";
import { isoTime, timeText } from "../../shared/commands/output/times.ts";
import {
  clientOf,
  command,
  type CommandContext,
  type CommandTree,
  done,
} from "../../shared/commands/run/command.ts";
import { AppService, type OrganizationInvite } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { reasonOf } from "../../shared/rpc/reasons.ts";
import type { Confirm } from "../asking/confirm.ts";
import { authorization, roleFlags, type RoleOn, roleTexts } from "./roles.ts";

const yesFlag = { type: "boolean", aliases: ["y"], doc: "Do not ask for confirmation." } as const;

/** Commands about people. */
export function memberCommands(confirm: Confirm): CommandTree {
  return {
    "members list": command({
      summary: "List the people of the organisation, and who is invited.",
      flags: {},
      async run(context) {
        const { id: organizationId } = await chooseOrganization(context);
        const app = await clientOf(context, AppService);
        const { members, invites } = await app.listOrganizationMembers({ organizationId });
        const { authorizations } = await app.listAuthorizations({ organizationId });
        const held = members.map(({ userId }) =>
          authorizations.filter(({ identityId }) => identityId === userId)
        );
        const json = {
          members: members.map((member, index) => ({
            id: member.userId,
            emails: member.emails,
            date_added: isoTime(member.dateAdded),
            last_login: isoTime(member.lastLogin),
            roles: (held[index] ?? []).map(({ authorizationId }) => authorizationId),
          })),
          invites: invites.map(({ email, createdOn, authorizations }) => ({
            email,
            created_on: isoTime(createdOn),
            roles: authorizations.map(({ authorizationId }) => authorizationId),
          })),
        };
        const texts = await roleTexts(context, [
          ...held,
          ...invites.map((one) => one.authorizations),
        ]);
        const rows = [
          ...members.map((one) => [one.userId, one.emails.join(", "), "", timeText(one.dateAdded)]),
          ...invites.map((one) => ["-", one.email, "invited", timeText(one.createdOn)]),
        ].map(([id = "", email = "", state = "", since = ""], index) => [
          ...[id, email, state, texts[index] ?? "", since],
        ]);
        const text = rows.length === 0
          ? `no people yet, API keys only; ${context.program} members invite EMAIL --role ROLE invites somebody\n`
          : textTable([["ID", "E-MAIL", "", "MAY", "SINCE"], ...rows], context.terminal.columns);
        return { json, text, ids: members.map(({ userId }) => userId) };
      },
    }),
    "members invite": command({
      summary: "Invite somebody by e-mail.",
      flags: roleFlags,
      arguments: [{ placeholder: "EMAIL", doc: "Whom." }],
      async run(context, { values, arguments: [email = ""] }) {
        const { id: organizationId } = await chooseOrganization(context);
        const authorizations = [await authorization(context, organizationId, values)];
        const app = await clientOf(context, AppService);
        const invitation = { organizationId, email, authorizations, sendEmailInvite: true };
        await sending(context, email, () => app.createOrganizationInvite(invitation));
        const [role] = await roleTexts(context, [authorizations]);
        return done(
          { email, role: values.role },
          `${email} is invited as ${role}; a mail brings the link; ${otherwise(email)}`,
        );
      },
    }),
    "members resend": command({
      summary: "Send an invitation once more; the link of before counts no longer.",
      flags: {},
      arguments: [{ placeholder: "EMAIL", doc: "Who is invited." }],
      async run(context, { arguments: [email = ""] }) {
        const { id: organizationId } = await chooseOrganization(context);
        const app = await clientOf(context, AppService);
        const invitation = { organizationId, email, sendEmailInvite: true };
        await sending(context, email, () => app.resendOrganizationInvite(invitation));
        return done({ email }, `${email} is sent the invitation once more; ${otherwise(email)}`);
      },
    }),
    "members role": command({
      summary: "Give a member another role, in the organisation, a location or with a machine.",
      flags: roleFlags,
      arguments: [{ placeholder: "EMAIL", doc: "E-mail address, or id of a member." }],
      async run(context, { values, arguments: [wanted = ""] }) {
        const { id: organizationId } = await chooseOrganization(context);
        const app = await clientOf(context, AppService);
        const { members, invites } = await app.listOrganizationMembers({ organizationId });
        const member = members.find(({ userId, emails }) => [userId, ...emails].includes(wanted));
        const made = await authorization(context, organizationId, values);
        if (!member) return await changeInvitation(context, invites, wanted, made);
        const identity = { identityType: "user", identityId: member.userId };
        const { authorizations } = await app.listAuthorizations({
          organizationId,
          resourceIds: [made.resourceId],
        });
        const before = authorizations.find(({ identityId }) => identityId === member.userId);
        const newAuthorization = { ...made, ...identity };
        if (before?.authorizationId !== made.authorizationId) {
          if (before) await app.changeRole({ oldAuthorization: before, newAuthorization });
          else await app.addRole({ authorization: newAuthorization });
        }
        const [text] = await roleTexts(context, [[made]]);
        return done({ id: member.userId, role: made.authorizationId }, `${wanted} is ${text} now`);
      },
    }),
    "members remove": command({
      summary: "Take somebody out of the organisation, or take an invitation back.",
      flags: { "yes": yesFlag },
      arguments: [{ placeholder: "EMAIL", doc: "E-mail address, or id of a member." }],
      async run(context, { values, arguments: [wanted = ""] }) {
        const { id: organizationId } = await chooseOrganization(context);
        const app = await clientOf(context, AppService);
        const { members, invites } = await app.listOrganizationMembers({ organizationId });
        const member = members.find(({ userId, emails }) => [userId, ...emails].includes(wanted));
        if (!member && !invites.some(({ email }) => email === wanted)) {
          throw new UsageError(
            `${
              JSON.stringify(wanted)
            } is neither a member nor invited; ${context.program} members ` +
              "list shows who is",
          );
        }
        await confirm(context, values.yes, `remove ${wanted} from the organisation?`);
        if (member) await app.deleteOrganizationMember({ organizationId, userId: member.userId });
        else await app.deleteOrganizationInvite({ organizationId, email: wanted });
        return done({ id: member?.userId ?? wanted }, `removed ${wanted}`);
      },
    }),
  };
}

function otherwise(email: string): string {
  return `where the cloud sends no mail: machine-cloud invitation link ${email} --data DIR, on its host`;
}

/** Has an invitation mailed. @throws {Error} that says by which command it is sent later */
async function sending(
  { program }: Pick<CommandContext, "program">,
  email: string,
  send: () => Promise<unknown>,
): Promise<void> {
  try {
    await send();
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    const given = reasonOf(error);
    const again = `${program} members resend ${email}`;
    if (given?.reason === "INVITED_ALREADY") {
      throw new Error(
        `${email} is invited already; ${again} sends it once more, ${program} members role ` +
          "changes what they may",
        { cause: error },
      );
    }
    if (given?.reason !== "MAIL_REFUSED") throw error;
    throw new Error(
      `${email} is invited, but the mail server did not take the mail ` +
        `(${given.values["problem"]}); send it later with ${again}, or hand over a link: ` +
        `machine-cloud invitation link ${email} --data DIR, on the cloud's host`,
      { cause: error },
    );
  }
}

/** What somebody who is invited will be, in place of what the invitation said of the same thing. */
async function changeInvitation(
  context: CommandContext,
  invites: readonly OrganizationInvite[],
  email: string,
  made: Awaited<ReturnType<typeof authorization>>,
) {
  const invite = invites.find((one) => one.email === email);
  if (!invite) {
    throw new UsageError(
      `${JSON.stringify(email)} is neither a member nor invited; ${context.program} members list ` +
        "shows who is",
    );
  }
  const same = (one: RoleOn) => one.authorizationId === made.authorizationId;
  const others = invite.authorizations.filter((one) =>
    one.resourceId === made.resourceId && !same(one)
  );
  if (
    others.length > 0 || !invite.authorizations.some((one) => one.resourceId === made.resourceId)
  ) {
    await (await clientOf(context, AppService)).updateOrganizationInviteAuthorizations({
      ...{ organizationId: made.organizationId, email },
      addAuthorizations: [made],
      removeAuthorizations: others,
    });
  }
  const [text] = await roleTexts(context, [[made]]);
  return done({ email, role: made.authorizationId }, `${email} is invited as ${text} now`);
}
