import { UsageError } from "../../shared/base/flags/flags.ts";
import { chooseOrganization } from "../../shared/commands/choice/organization.ts";
import { chooseMachine } from "../../shared/commands/choice/part.ts";
import { chooseLocation } from "../../shared/commands/choice/location.ts";
import { textTable } from "../../shared/commands/output/text_table.ts";
import { isoTime, timeText } from "../../shared/commands/output/times.ts";
import {
  clientOf,
  command,
  type CommandContext,
  type CommandTree,
  done,
} from "../../shared/commands/run/command.ts";
import {
  type APIKeyWithAuthorizations,
  AppService,
  type AuthorizationDetails,
} from "../../shared/gen/viam/app/v1/app_pb.ts";
import type { Confirm } from "../asking/confirm.ts";

const yesFlag = { type: "boolean", aliases: ["y"], doc: "Do not ask." } as const;
const keyArgument = { placeholder: "ID", doc: "Id or name of the API key." };

/** Who may do what with what, as command lines say it. */
const roleFlags = {
  "role": {
    type: "string",
    default: "owner",
    choices: ["owner", "operator"],
    placeholder: "ROLE",
    doc: "owner may everything; operator may use machines and read their data.",
  },
  "location": { type: "string", placeholder: "ID", doc: "Only in this location, by id or name." },
  "machine": { type: "string", placeholder: "ID", doc: "Only with this machine, by id or name." },
} as const;

/** Commands about organisations. */
export const organizationCommands: CommandTree = {
  "organizations list": command({
    summary: "List the organisations that you belong to.",
    flags: {},
    async run(context) {
      const app = await clientOf(context, AppService);
      const { organizations } = await app.listOrganizations({});
      const rows = organizations.map(({ id, name, publicNamespace, createdOn }) => [
        ...[id, name, publicNamespace || "-", timeText(createdOn)],
      ]);
      const heading = ["ID", "ORGANISATION", "NAMESPACE", "MADE"];
      return {
        json: organizations.map(({ id, name, publicNamespace, createdOn }) => ({
          ...{ id, name, namespace: publicNamespace, created_on: isoTime(createdOn) },
        })),
        text: textTable([heading, ...rows], context.terminal.columns),
        ids: organizations.map(({ id }) => id),
      };
    },
  }),
  "organizations rename": command({
    summary: "Give the organisation another name.",
    flags: {},
    arguments: [{ placeholder: "NAME", doc: "The new name." }],
    async run(context, { arguments: [name = ""] }) {
      const { id, name: before } = await chooseOrganization(context);
      const app = await clientOf(context, AppService);
      await app.updateOrganization({ organizationId: id, name });
      return done({ id, name }, `organisation ${before} is ${name} now`);
    },
  }),
};

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
        const json = {
          members: members.map((member) => ({
            id: member.userId,
            emails: member.emails,
            date_added: isoTime(member.dateAdded),
            last_login: isoTime(member.lastLogin),
          })),
          invites: invites.map(({ email, createdOn, authorizations }) => ({
            email,
            created_on: isoTime(createdOn),
            roles: authorizations.map(({ authorizationId }) => authorizationId),
          })),
        };
        const rows = [
          ...members.map((one) => [
            ...[one.userId, one.emails.join(", "), "member", timeText(one.dateAdded)],
          ]),
          ...invites.map((one) => ["-", one.email, "invited", timeText(one.createdOn)]),
        ];
        const text = rows.length === 0
          ? `no people yet, API keys only; ${context.program} members invite EMAIL invites somebody\n`
          : textTable([["ID", "E-MAIL", "", "SINCE"], ...rows], context.terminal.columns);
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
        await app.createOrganizationInvite({
          ...{ organizationId, email, authorizations, sendEmailInvite: true },
        });
        return done(
          { email, role: values.role },
          `${email} is invited as ${values.role}; a mail brings the link, or where the cloud sends no ` +
            `mail: machine-cloud invitation link ${email} --data DIR, on its computer`,
        );
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
          throw new UsageError(`nobody ${JSON.stringify(wanted)} is a member or invited`);
        }
        await confirm(context, values.yes, `remove ${wanted} from the organisation?`);
        if (member) await app.deleteOrganizationMember({ organizationId, userId: member.userId });
        else await app.deleteOrganizationInvite({ organizationId, email: wanted });
        return done({ id: member?.userId ?? wanted }, `removed ${wanted}`);
      },
    }),
  };
}

/** Commands about API keys. */
export function keyCommands(confirm: Confirm): CommandTree {
  return {
    "keys list": command({
      summary: "List API keys and what they may do.",
      flags: {},
      async run(context) {
        const apiKeys = await listKeys(context);
        const rows = apiKeys.map(({ apiKey, authorizations }) => [
          apiKey?.id ?? "",
          apiKey?.name ?? "",
          authorizations.map(roleText).join(", "),
          timeText(apiKey?.createdOn),
        ]);
        const json = apiKeys.map(({ apiKey, authorizations }) => ({
          id: apiKey?.id,
          name: apiKey?.name,
          created_on: isoTime(apiKey?.createdOn),
          authorizations: authorizations.map((one) => ({
            role: one.authorizationId,
            resource_type: one.resourceType,
            resource_id: one.resourceId,
          })),
        }));
        const heading = ["ID", "NAME", "MAY", "MADE"];
        const text = textTable([heading, ...rows], context.terminal.columns);
        return { json, text, ids: apiKeys.map(({ apiKey }) => apiKey?.id ?? "") };
      },
    }),
    "keys create": command({
      summary: "Make an API key and print it; it is not shown again.",
      flags: roleFlags,
      arguments: [{ placeholder: "NAME", doc: "What it is for." }],
      async run(context, { values, arguments: [name = ""] }) {
        const { id: organizationId } = await chooseOrganization(context);
        const authorizations = [await authorization(context, organizationId, values)];
        const app = await clientOf(context, AppService);
        const { id, key } = await app.createKey({ name, authorizations });
        return done({ id, key, name }, `id   ${id}\nkey  ${key}`);
      },
    }),
    "keys rename": command({
      summary: "Give an API key another name.",
      flags: {},
      arguments: [keyArgument, { placeholder: "NAME", doc: "The new name." }],
      async run(context, { arguments: [wanted = "", name = ""] }) {
        const id = await chooseKey(context, wanted);
        await (await clientOf(context, AppService)).renameKey({ id, name });
        return done({ id, name }, `API key ${id} is ${name} now`);
      },
    }),
    "keys rotate": command({
      summary: "Make a new key with the same rights and end the old one.",
      flags: { "yes": yesFlag },
      arguments: [keyArgument],
      async run(context, { values, arguments: [wanted = ""] }) {
        const id = await chooseKey(context, wanted);
        await confirm(context, values.yes, `end API key ${id} and make another one?`);
        const made = await (await clientOf(context, AppService)).rotateKey({ id });
        return done({ id: made.id, key: made.key }, `id   ${made.id}\nkey  ${made.key}`);
      },
    }),
    "keys delete": command({
      summary: "End an API key, and everything that is connected by it.",
      flags: { "yes": yesFlag },
      arguments: [keyArgument],
      async run(context, { values, arguments: [wanted = ""] }) {
        const id = await chooseKey(context, wanted);
        await confirm(context, values.yes, `delete API key ${wanted}?`);
        await (await clientOf(context, AppService)).deleteKey({ id });
        return done({ id }, `deleted API key ${wanted}`);
      },
    }),
  };
}

async function listKeys(context: CommandContext): Promise<APIKeyWithAuthorizations[]> {
  const { id: orgId } = await chooseOrganization(context);
  return (await (await clientOf(context, AppService)).listKeys({ orgId })).apiKeys;
}

async function chooseKey(context: CommandContext, wanted: string): Promise<string> {
  const keys = (await listKeys(context)).flatMap(({ apiKey }) => apiKey ? [apiKey] : []);
  const fitting = keys.filter(({ id, name }) => id === wanted || name === wanted);
  const [only] = fitting;
  if (only && fitting.length === 1) return only.id;
  const problem = only ? "several API keys are" : "there is no API key";
  throw new UsageError(
    `${problem} called ${JSON.stringify(wanted)}; ${context.program} keys list shows their ids`,
  );
}

function roleText({ authorizationId, resourceType, resourceId }: AuthorizationDetails): string {
  const role = authorizationId.split("_").at(-1) ?? authorizationId;
  return `${role} of ${resourceType} ${resourceId}`;
}

/** The right that options ask for. @throws {UsageError} */
async function authorization(
  context: CommandContext,
  organizationId: string,
  { role, location, machine }: {
    readonly role: string;
    readonly location: string | undefined;
    readonly machine: string | undefined;
  },
) {
  if (location !== undefined && machine !== undefined) {
    throw new UsageError("--location and --machine do not go together; give one of them");
  }
  const [resourceType, resourceId] = location !== undefined
    ? ["location", (await chooseLocation(context, location)).id]
    : machine !== undefined
    ? ["robot", (await chooseMachine(context, machine)).id]
    : ["organization", organizationId];
  return {
    authorizationType: "role",
    authorizationId: `${resourceType}_${role}`,
    ...{ resourceType, resourceId, organizationId },
  };
}
