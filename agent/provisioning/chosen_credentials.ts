import {
  CredentialsError,
  type MachineCredentials,
  parseCredentials,
} from "../../shared/cloud/credentials/credentials_file.ts";
import { JsoncError, parseJsonc } from "../../shared/base/files/jsonc.ts";
import { type ChosenCredentials, ProvisioningInputError } from "./provisioning_port.ts";

/** Longest id, secret, key or address; those of clouds have 70 characters at most. */
const MOST_CHARACTERS = 512;

/**
 * Machine credentials as a person pasted them: the text of a credentials file.
 *
 * @throws {ProvisioningInputError} without any of the text.
 */
export function parseChosenCredentials(text: string): ChosenCredentials {
  let json: unknown;
  try {
    json = parseJsonc(text);
  } catch (error) {
    // Its message may hold a piece of the text.
    if (error instanceof JsoncError) throw refused("this is not JSON");
    throw error;
  }
  return toChosenCredentials(json);
}

/**
 * Machine credentials in the form of a credentials file that is read already.
 *
 * @throws {ProvisioningInputError}
 */
export function toChosenCredentials(json: unknown): ChosenCredentials {
  const { appAddress, partId, credentials } = parsed(json);
  const { type, entity, payload } = credentials;
  const secret = payload.reveal();
  for (const value of [appAddress, partId, entity, secret]) {
    if (value.length > MOST_CHARACTERS) {
      throw refused(`a value is longer than ${MOST_CHARACTERS} characters`);
    }
    if (/\p{Cc}/u.test(value)) throw refused("a value holds a control character");
  }
  const key = type === "api-key" ? { id: entity, key: secret } : { secret };
  return { appAddress, partId, key };
}

function parsed(json: unknown): MachineCredentials {
  try {
    return parseCredentials(json, "the machine credentials");
  } catch (error) {
    if (error instanceof CredentialsError) {
      throw new ProvisioningInputError("credentials", error.message);
    }
    throw error;
  }
}

function refused(problem: string): ProvisioningInputError {
  return new ProvisioningInputError("credentials", `the machine credentials: ${problem}`);
}
