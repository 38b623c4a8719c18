import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import { AppService, type SharedSecret } from "../../gen/viam/app/v1/app_pb.ts";
import { textTable } from "../output/text_table.ts";
import type { secretCommands } from "./secret_flags.ts";
import { chooseLocation } from "../choice/location.ts";
import { choosePart } from "../choice/part.ts";
import { isoTime } from "../output/times.ts";
import { clientOf, type CloudContext, type CommandOf, done, type Output } from "../run/command.ts";

/** One of the commands about secrets, as the command line requests it. */
export type SecretCommand = CommandOf<typeof secretCommands>;

/** The secrets of one part or one location. */
interface Secrets {
  list(): Promise<readonly SharedSecret[]>;
  /** All of them, newest first. */
  create(): Promise<readonly SharedSecret[]>;
  delete(secretId: string): Promise<unknown>;
}

/** Does what the command line requests. */
export async function runSecretCommand(
  parsed: SecretCommand,
  context: CloudContext,
): Promise<Output> {
  const app = await clientOf(context, AppService);
  const { location } = parsed.values;
  const secrets = location === undefined
    ? ofPart(app, (await choosePart(context, parsed.values)).id)
    : ofLocation(app, (await chooseLocation(context, location)).id);
  switch (parsed.command) {
    case "secret list": {
      const all = await secrets.list();
      const json = all.map(({ id, createdOn }) => ({ id, created_on: isoTime(createdOn) }));
      return { json, text: table(all), ids: all.map(({ id }) => id) };
    }
    case "secret create": {
      const [created] = await secrets.create();
      const { id = "", secret = "" } = created ?? {};
      return { json: { id, secret }, text: `${secret}\n`, ids: [id] };
    }
    case "secret delete": {
      const [id = ""] = parsed.arguments;
      await secrets.delete(id);
      return done({ id }, `secret ${id} counts no more`);
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
  return rows.length === 0
    ? "no secret that you may see; those of a machine or location are for its owners\n"
    : textTable([["SECRET", "CREATED"], ...rows]);
}
