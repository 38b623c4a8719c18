import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import type { ParsedCommand } from "../../../shared/base/flags/flags.ts";
import type { AppService, SharedSecret } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { withAdvice } from "../../local/connection/cloud_connection.ts";
import { choosePart } from "../../local/connection/part_choice.ts";
import { readPlace } from "../../local/connection/place_flags.ts";
import { withPlainFailures } from "../../local/connection/plain_failures.ts";
import { textTable } from "../../../shared/commands/output/text_table.ts";
import { connectToSecrets, type SecretDeps } from "./secret_connection.ts";
import type { secretCommands } from "./secret_flags.ts";

/** One of the commands about secrets, as the command line asks for it. */
export type SecretCommand = Extract<
  ParsedCommand<typeof secretCommands>,
  { readonly command: keyof typeof secretCommands }
>;

/** Does what the command line asks for and gives back what to print. */
export function runSecretCommand(parsed: SecretCommand, deps: SecretDeps): Promise<string> {
  return withPlainFailures(async () => {
    const place = readPlace(parsed.values);
    await using connection = await connectToSecrets(place, parsed.values.org, deps);
    try {
      return await run(parsed, connection.app);
    } catch (error) {
      throw connection.url === undefined ? error : withAdvice(error, connection.url);
    }
  });
}

/** The secrets of one part or one location. */
interface Secrets {
  list(): Promise<readonly SharedSecret[]>;
  /** All of them, newest first. */
  create(): Promise<readonly SharedSecret[]>;
  delete(secretId: string): Promise<unknown>;
}

async function run(parsed: SecretCommand, app: Client<typeof AppService>): Promise<string> {
  const { location } = parsed.values;
  const secrets = location === undefined
    ? ofPart(app, (await choosePart(app, parsed.values)).id)
    : ofLocation(app, location);
  switch (parsed.command) {
    case "secret list":
      return table(await secrets.list());
    case "secret create": {
      const [created] = await secrets.create();
      return `${created?.secret ?? ""}\n`;
    }
    case "secret delete": {
      const [id = ""] = parsed.arguments;
      await secrets.delete(id);
      return `secret ${id} counts no more\n`;
    }
  }
}

function ofPart(app: Client<typeof AppService>, partId: string): Secrets {
  return {
    list: async () => (await app.getRobotPart({ id: partId })).part?.secrets ?? [],
    create: async () => (await app.createRobotPartSecret({ partId })).part?.secrets ?? [],
    delete: (secretId) => app.deleteRobotPartSecret({ partId, secretId }),
  };
}

function ofLocation(app: Client<typeof AppService>, locationId: string): Secrets {
  return {
    list: async () => (await app.locationAuth({ locationId })).auth?.secrets ?? [],
    create: async () => (await app.createLocationSecret({ locationId })).auth?.secrets ?? [],
    delete: (secretId) => app.deleteLocationSecret({ locationId, secretId }),
  };
}

/** A line for each secret, newest first; not the secrets themselves. */
function table(secrets: readonly SharedSecret[]): string {
  const rows = secrets.map(({ id, createdOn }) => [
    id,
    createdOn ? timestampDate(createdOn).toISOString() : "-",
  ]);
  return textTable([["SECRET", "CREATED"], ...rows]);
}
