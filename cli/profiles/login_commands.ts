import { type FlagValues, UsageError } from "../../shared/base/flags/flags.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { clientOf, command, type CommandTree, done } from "../../shared/commands/run/command.ts";
import { textTable } from "../../shared/commands/output/text_table.ts";
import type { OpenCloud } from "../../shared/commands/run/run_command.ts";
import type { Profile, Profiles } from "./profiles.ts";

/** What signing in needs from outside. */
export interface LoginDeps {
  readonly profiles: Profiles;
  readonly cloudAddress: (text: string) => string;
  readonly connect: (profile: Profile) => OpenCloud;
  /** Asks the person; hidden texts are not shown while they are typed. */
  readonly ask: (question: string, options?: { readonly hidden?: boolean }) => Promise<string>;
}

const loginFlags = {
  "cloud": {
    type: "string",
    required: true,
    placeholder: "URL",
    doc: "Address of the cloud: https://HOST or http://HOST:PORT.",
  },
  "profile": {
    type: "string",
    default: "default",
    placeholder: "NAME",
    doc: "Name by which commands use it.",
  },
  "key-id": {
    type: "string",
    placeholder: "ID",
    env: "MACHINE_CLOUD_API_KEY_ID",
    doc: "Id of the API key; asked for when it is left out.",
  },
  "key": {
    type: "string",
    placeholder: "KEY",
    env: "MACHINE_CLOUD_API_KEY",
    doc: "The API key; asked for when it is left out, which keeps it off the command line.",
  },
  "allow-insecure-creds": {
    type: "boolean",
    doc: "Send the API key over plaintext to another computer.",
  },
} as const;

/** Signing in and out. */
export function loginCommands(deps: LoginDeps): CommandTree {
  const { profiles } = deps;
  return {
    "login": command({
      summary: "Sign in at a cloud and keep that as a profile.",
      flags: loginFlags,
      footer: "The key is kept in profiles.json in ~/.config/machine (or $MACHINE_CONFIG_DIR), " +
        "which only you can read.",
      async run(_, { values }) {
        const { organizations, profile } = await signIn(deps, values);
        await profiles.save(values.profile, profile);
        const names = organizations.map(({ name }) => name).join(", ");
        return done(
          {
            profile: values.profile,
            cloud: profile.cloud,
            key_id: profile.key_id,
            organizations: organizations.map(({ id, name }) => ({ id, name })),
          },
          `signed in at ${profile.cloud} (${names}), profile ${values.profile}`,
        );
      },
    }),
    "logout": command({
      summary: "Forget a profile and its key; the key itself stays valid.",
      flags: {},
      async run(_, { values }) {
        const { profile } = values as { readonly profile?: string };
        const name = await profiles.remove(profile);
        return done({ profile: name }, `forgot profile ${name}`);
      },
    }),
    "whoami": command({
      summary: "Show who is signed in where, and ask the cloud whether that holds.",
      flags: {},
      async run(context, { values }) {
        const { cloud, profile: wanted, "key-id": keyId } = values as {
          readonly cloud?: string;
          readonly profile?: string;
          readonly "key-id"?: string;
        };
        const chosen = cloud === undefined ? await profiles.choose(wanted) : undefined;
        const app = await clientOf(context, AppService);
        const { organizations } = await app.listOrganizations({});
        const rows = {
          profile: chosen?.name ?? "",
          cloud: chosen?.profile.cloud ?? cloud,
          key_id: chosen?.profile.key_id ?? keyId,
          organizations: organizations.map(({ id, name }) => ({ id, name })),
        };
        const text = textTable([
          ["profile", rows.profile || "none (options or environment)"],
          ["cloud", rows.cloud ?? ""],
          ["API key", rows.key_id ?? ""],
          ["organisation", organizations.map(({ id, name }) => `${name} (${id})`).join(", ")],
        ]);
        return { json: rows, text };
      },
    }),
    "profiles list": command({
      summary: "List the profiles.",
      flags: {},
      async run(context) {
        const file = await profiles.read();
        const rows = Object.entries(file.profiles).map(([name, { cloud, key_id }]) => ({
          ...{ name, cloud, key_id, current: name === file.current },
        }));
        const text = rows.length === 0
          ? "no profiles; make one with machine login --cloud URL\n"
          : textTable([
            ["PROFILE", "CLOUD", "API KEY", ""],
            ...rows.map((row) => [row.name, row.cloud, row.key_id, row.current ? "in use" : ""]),
          ], context.terminal.columns);
        return { json: rows, text, ids: rows.map(({ name }) => name) };
      },
    }),
    "profiles use": command({
      summary: "Use another profile from now on.",
      flags: {},
      arguments: [{ placeholder: "NAME", doc: "The profile." }],
      async run(_, { arguments: [name = ""] }) {
        await profiles.use(name);
        return done({ profile: name }, `commands use profile ${name} now`);
      },
    }),
  };
}

async function signIn(deps: LoginDeps, values: FlagValues<typeof loginFlags>) {
  const cloud = deps.cloudAddress(values.cloud);
  const keyId = values["key-id"] ?? await deps.ask("API key id: ");
  const key = values.key ?? await deps.ask("API key: ", { hidden: true });
  if (keyId === "" || key === "") {
    throw new UsageError("an API key is needed: give --key-id and --key, or type them in");
  }
  const allowInsecure = values["allow-insecure-creds"];
  const profile = {
    ...{ cloud, key_id: keyId, key },
    ...(allowInsecure ? { allow_insecure: true } : {}),
  };
  await using connection = deps.connect(profile);
  const context = { cloud: () => Promise.resolve(connection) };
  try {
    const app = await clientOf(context, AppService);
    const { organizations } = await app.listOrganizations({}, { timeoutMs: 20_000 });
    return { organizations, profile };
  } catch (error) {
    throw connection.advice(error);
  }
}
