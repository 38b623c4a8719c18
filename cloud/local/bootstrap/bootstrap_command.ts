import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import type { FlagTable, FlagValues } from "../../../shared/base/flags/flags.ts";
import { UsageError } from "../../../shared/base/flags/flags.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { parsePublicUrl } from "../../api/addresses/addresses.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import type { Random } from "../../storage/keys/random.ts";
import {
  ConfigRefusedError,
  configWarnings,
  readConfig,
} from "../../fleet/configuration/config_check.ts";
import type { ConfigDocument } from "../../fleet/configuration/config_document.ts";
import { RecentDocuments } from "../../fleet/configuration/recent_documents.ts";
import { credentialsFile } from "../../fleet/machines/part_credentials.ts";
import { machineNameProblem, titleProblem } from "../../api/names/names.ts";
import { emailProblem, normalEmail } from "../../accounts/people/emails.ts";
import { linkUrl } from "../../accounts/links/one_time_links.ts";
import { addOwner, addressOf, signInLink } from "../people/people_command.ts";
import { bootstrap, type BootstrapResult } from "./bootstrap.ts";

export const bootstrapFlags = {
  "data": {
    type: "string",
    required: true,
    placeholder: "DIR",
    doc: "Data folder of the cloud; made when it is not there.",
  },
  "database": {
    type: "string",
    placeholder: "URL",
    env: "MACHINE_CLOUD_DATABASE",
    doc:
      "postgres://USER@HOST:PORT/DATABASE, where the cloud has its database there. Default: as " +
      "the data folder notes it, else SQLite in the folder.",
  },
  "org": {
    type: "string",
    required: true,
    placeholder: "NAME",
    doc: "Organisation.",
  },
  "location": {
    type: "string",
    required: true,
    placeholder: "NAME",
    doc: "Location in it.",
  },
  "machine": {
    type: "string",
    required: true,
    placeholder: "NAME",
    doc: "Machine in that.",
  },
  "config": {
    type: "string",
    placeholder: "FILE",
    doc: "Configuration of the machine, JSON. Default: none, or what it has.",
  },
  "public-url": {
    type: "string",
    placeholder: "URL",
    doc: "Where the cloud is reached. Default: where it serves or served last.",
  },
  "owner": {
    type: "string",
    placeholder: "EMAIL",
    doc: "Make this person owner of the organisation. owner_sign_in_url signs them in once, " +
      "within an hour; owner_password_url, when printed, is where they set a password within a day.",
  },
  "credentials-out": {
    type: "string",
    placeholder: "FILE",
    doc: "Write the machine's credentials file there.",
  },
} as const satisfies FlagTable;

/** Does what the command line requests and gives back what to print. */
export async function runBootstrap(
  flags: FlagValues<typeof bootstrapFlags>,
  deps: {
    readonly clock: Clock;
    readonly random: Random;
    /** Notified of what is odd about the configuration and does not keep it from being saved. */
    readonly warn: (text: string) => void;
  },
): Promise<BootstrapResult> {
  requireName("org", flags.org, titleProblem(flags.org));
  requireName("location", flags.location, titleProblem(flags.location));
  requireName("machine", flags.machine, machineNameProblem(flags.machine));
  const owner = flags.owner === undefined ? undefined : normalEmail(flags.owner);
  const ownerProblem = owner === undefined ? undefined : emailProblem(owner);
  if (ownerProblem) throw new UsageError(`--owner: ${ownerProblem}`);
  const publicUrl = flags["public-url"] === undefined
    ? undefined
    : parsePublicUrl(flags["public-url"]);
  const documents = new RecentDocuments();
  const config = flags.config === undefined
    ? undefined
    : await readConfigFile(flags.config, documents);
  if (config) configWarnings(documents.reading(config.text)).forEach(deps.warn);
  const folder = await openDataFolder(flags.data, deps.random, flags.database);
  try {
    let result: BootstrapResult = await bootstrap(folder, deps, {
      organization: flags.org,
      location: flags.location,
      machine: flags.machine,
      config,
      publicUrl,
    });
    if (owner !== undefined) {
      const { queries } = folder.database;
      const token = await addOwner(queries, { email: owner, orgId: result.org_id }, deps);
      const address = await addressOf(queries, publicUrl);
      if (token !== undefined) {
        result = { ...result, owner_password_url: linkUrl(address, "password", token) };
      }
      const code = await signInLink(queries, owner, deps);
      result = { ...result, owner_sign_in_url: linkUrl(address, "link", code) };
    }
    const credentialsOut = flags["credentials-out"];
    if (credentialsOut !== undefined) {
      const file = credentialsFile(result.cloud_address, result.part_id, result.part_secret);
      await writeFileAtomic(credentialsOut, JSON.stringify(file, null, 2) + "\n", { mode: 0o600 });
    }
    return result;
  } finally {
    folder.database.close();
  }
}

function requireName(flag: string, name: string, problem: string | undefined): void {
  if (problem) throw new UsageError(`--${flag}: ${JSON.stringify(name)} is no name: ${problem}`);
}

async function readConfigFile(path: string, documents: RecentDocuments): Promise<ConfigDocument> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    throw toFileError(error, "read the configuration", path);
  }
  try {
    return readConfig(text, documents);
  } catch (error) {
    if (!(error instanceof ConfigRefusedError)) throw error;
    throw new ConfigRefusedError(`${path}: ${error.message}`, { cause: error });
  }
}
