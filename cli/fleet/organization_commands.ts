import { UsageError } from "../../shared/base/flags/flags.ts";
import { toFileError } from "../../shared/base/files/fs_error.ts";
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
import { type APIKeyWithAuthorizations, AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import type { Confirm } from "../asking/confirm.ts";
import { authorization, roleFlags, roleTexts } from "./roles.ts";

const yesFlag = { type: "boolean", aliases: ["y"], doc: "Do not ask for confirmation." } as const;
const keyArgument = { placeholder: "ID", doc: "Id or name of the API key." };

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
  "organizations create": command({
    summary: "Make an organisation of your own, for people who are signed in.",
    flags: {},
    arguments: [{ placeholder: "NAME", doc: "What it is called." }],
    async run(context, { arguments: [name = ""] }) {
      const app = await clientOf(context, AppService);
      const { organization } = await app.createOrganization({ name });
      const id = organization?.id ?? "";
      return done(
        { id, name },
        `made the organisation ${name}; work in it with --org ${id}, or its name`,
      );
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
  "organizations logo show": command({
    summary: "Print the address of the organisation's logo.",
    flags: {},
    async run(context) {
      const { id } = await chooseOrganization(context);
      const { url } = await (await clientOf(context, AppService)).organizationGetLogo({
        orgId: id,
      });
      const none = `no logo; ${context.program} organizations logo set FILE sets one\n`;
      return { json: { url }, text: url === "" ? none : `${url}\n`, ids: url === "" ? [] : [url] };
    },
  }),
  "organizations logo set": command({
    summary: "Show an image of your own in the console and on pages to sign in.",
    flags: {},
    arguments: [{ placeholder: "FILE", doc: "PNG, JPEG or WebP, 200 kB at most." }],
    async run(context, { arguments: [file = ""] }) {
      const { id, name } = await chooseOrganization(context);
      const logo = await Deno.readFile(file).catch((error) => {
        throw toFileError(error, "read the logo", file);
      });
      const app = await clientOf(context, AppService);
      await app.organizationSetLogo({ orgId: id, logo });
      const { url } = await app.organizationGetLogo({ orgId: id });
      return done({ id, url }, `${name} has the logo ${url}`);
    },
  }),
  "organizations logo remove": command({
    summary: "Show the mark of the product again.",
    flags: {},
    async run(context) {
      const { id, name } = await chooseOrganization(context);
      await (await clientOf(context, AppService)).organizationSetLogo({ orgId: id });
      return done({ id }, `${name} has no logo now`);
    },
  }),
};

/** The profiles of this host, as far as they sign in by API keys. */
export interface KeyProfiles {
  /** Names of those that sign in by a key. */
  withKey(id: string): Promise<string[]>;
  replaceKey(name: string, key: { readonly key_id: string; readonly key: string }): Promise<void>;
}

/** Commands about API keys. */
export function keyCommands(confirm: Confirm, profiles: KeyProfiles): CommandTree {
  return {
    "keys list": command({
      summary: "List API keys and what they may do.",
      flags: {},
      async run(context) {
        const apiKeys = await listKeys(context);
        const texts = await roleTexts(context, apiKeys.map((one) => one.authorizations));
        const rows = apiKeys.map(({ apiKey }, index) => [
          apiKey?.id ?? "",
          apiKey?.name ?? "",
          texts[index] ?? "",
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
      showsOnce: "key",
      flags: roleFlags,
      arguments: [{ placeholder: "NAME", doc: "What it is for." }],
      async run(context, { values, arguments: [name = ""] }) {
        const { id: organizationId } = await chooseOrganization(context);
        const authorizations = [await authorization(context, organizationId, values)];
        const app = await clientOf(context, AppService);
        const { id, key } = await app.createKey({ name, authorizations });
        const [may] = await roleTexts(context, [authorizations]);
        return done({ id, key, name }, `id   ${id}\nkey  ${key}\nmay  ${may}`);
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
      summary: "Make a new key with the same rights and revoke the old one.",
      showsOnce: "key",
      flags: { "yes": yesFlag },
      arguments: [keyArgument],
      async run(context, { values, arguments: [wanted = ""] }) {
        const id = await chooseKey(context, wanted);
        await confirm(context, values.yes, `revoke API key ${id} and make another one?`);
        const own = await profiles.withKey(id);
        const { id: key_id, key } = await (await clientOf(context, AppService)).rotateKey({ id });
        for (const name of own) await profiles.replaceKey(name, { key_id, key });
        const kept = own.map((name) => `\nprofile ${name} signs in with it from now on`).join("");
        return done({ id: key_id, key }, `id   ${key_id}\nkey  ${key}${kept}`);
      },
    }),
    "keys delete": command({
      summary: "Revoke an API key, and close everything that is connected by it.",
      flags: { "yes": yesFlag },
      arguments: [keyArgument],
      async run(context, { values, arguments: [wanted = ""] }) {
        const id = await chooseKey(context, wanted);
        const own = (await profiles.withKey(id)).map((name) =>
          `; profile ${name} signs in with it`
        );
        await confirm(context, values.yes, `delete API key ${wanted}${own.join("")}?`);
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
