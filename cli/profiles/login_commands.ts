import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { clientOf, command, type CommandTree, done } from "../../shared/commands/run/command.ts";
import { textTable } from "../../shared/commands/output/text_table.ts";
import { accountOf, type Profiles } from "./profiles.ts";
import { endSession, signIn, type SignInDeps } from "./sign_in.ts";

/** What signing in and out needs from outside. */
export interface LoginDeps extends SignInDeps {
  readonly profiles: Profiles;
}

/** Options of `machine login`. */
const loginFlags = {
  "cloud": {
    type: "string",
    placeholder: "URL",
    doc: "The same as the argument URL.",
  },
  "profile": {
    type: "string",
    default: "default",
    placeholder: "NAME",
    doc: "Name by which commands use it.",
  },
  "email": {
    type: "string",
    placeholder: "EMAIL",
    doc: "Sign in by e-mail and password, with a prompt, in place of an API key.",
  },
  "browser": {
    type: "boolean",
    doc:
      "Sign in with the browser of this computer: the default at a terminal. Where there is no " +
      "browser it is --device-code.",
  },
  "device-code": {
    type: "boolean",
    doc: "Sign in with a browser on another computer, which asks for a short code.",
  },
  "key-id": {
    type: "string",
    placeholder: "ID",
    env: "MACHINE_CLOUD_API_KEY_ID",
    doc: "Id of the API key; prompted for when it is left out.",
  },
  "key": {
    type: "string",
    placeholder: "KEY",
    env: "MACHINE_CLOUD_API_KEY",
    doc: "The API key; prompted for when it is left out, which keeps it off the command line.",
  },
  "allow-insecure-creds": {
    type: "boolean",
    doc: "Send the API key or password over plaintext to another host.",
  },
} as const;

/** @throws {UsageError} */
function cloudOf(argument: string | undefined, option: string | undefined): string {
  const cloud = argument ?? option;
  if (cloud === undefined) {
    throw new UsageError("give the address of the cloud: machine login https://HOST");
  }
  if (option !== undefined && option !== cloud) {
    throw new UsageError(`${cloud} and --cloud ${option} do not go together; give one address`);
  }
  return cloud;
}

/** Signing in and out. */
export function loginCommands(deps: LoginDeps): CommandTree {
  const { profiles } = deps;
  return {
    "login": command({
      summary: "Sign in at a cloud and keep that as a profile.",
      flags: loginFlags,
      arguments: [{
        placeholder: "URL",
        doc: "Address of the cloud: https://HOST or http://HOST:PORT.",
        optional: true,
      }],
      footer:
        "Set MACHINE_BROWSER to a program that opens pages, or to none. The password, and the code of a second factor, are typed in or come as lines of " +
        "standard input. The key, or the session, is kept in profiles.json in ~/.config/machine (or $MACHINE_CONFIG_DIR), " +
        "which only you can read.",
      async run(_, { values, arguments: [url] }) {
        const cloud = cloudOf(url, values.cloud);
        const { organizations, profile } = await signIn(deps, { ...values, cloud });
        await profiles.save(values.profile, profile);
        const names = organizations.map(({ name }) => name).join(", ");
        return done(
          {
            profile: values.profile,
            cloud: profile.cloud,
            ...accountOf(profile),
            organizations: organizations.map(({ id, name }) => ({ id, name })),
          },
          `signed in at ${profile.cloud} (${names}), profile ${values.profile}`,
        );
      },
    }),
    "logout": command({
      summary: "Delete a profile: a session is closed, an API key stays valid.",
      flags: {},
      async run(context, { values }) {
        const { profile: wanted } = values as { readonly profile?: string };
        const { name, profile } = await profiles.choose(wanted);
        const problem = "access_token" in profile ? await endSession(deps, profile) : undefined;
        await profiles.remove(name);
        if (problem !== undefined) context.warn(problem);
        const ended = "access_token" in profile && problem === undefined;
        return done(
          { profile: name, session_ended: ended },
          `forgot profile ${name}${ended ? "; its session was closed" : ""}`,
        );
      },
    }),
    "whoami": command({
      summary: "Show who is signed in where, and check with the cloud that it is valid.",
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
          ...(chosen ? accountOf(chosen.profile) : { key_id: keyId ?? "", email: "" }),
          organizations: organizations.map(({ id, name }) => ({ id, name })),
        };
        const text = textTable([
          ["profile", rows.profile || "none (options or environment)"],
          ["cloud", rows.cloud ?? ""],
          rows.email === "" ? ["API key", rows.key_id] : ["e-mail", rows.email],
          ["organisation", organizations.map(({ id, name }) => `${name} (${id})`).join(", ")],
        ]);
        return { json: rows, text, ids: [rows.email || rows.key_id] };
      },
    }),
    "profiles list": command({
      summary: "List the profiles.",
      flags: {},
      async run(context) {
        const file = await profiles.read();
        const rows = Object.entries(file.profiles).map(([name, profile]) => ({
          ...{ name, cloud: profile.cloud, ...accountOf(profile), current: name === file.current },
        }));
        const text = rows.length === 0
          ? "no profiles; make one with machine login --cloud URL\n"
          : textTable([
            ["PROFILE", "CLOUD", "ACCOUNT", ""],
            ...rows.map((row) => [
              ...[row.name, row.cloud, row.email || row.key_id, row.current ? "in use" : ""],
            ]),
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
