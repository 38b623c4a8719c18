import type { Json } from "../../../shared/gen/micro/messages.ts";
import { parseOrigin } from "../http/client.ts";
import { isObject } from "../resources/attributes.ts";
import type { Credentials } from "./cloud_client.ts";

/**
 * Reads `{"cloud": {"app_address", "id", "secret"}}`, or with `api_key: {id, key}` instead of the
 * secret, as the cloud gives it.
 *
 * @throws Error saying what is wrong
 */
export function readCredentials(text: string): Credentials {
  let json: Json;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error("the credentials are not JSON");
  }
  const cloud = isObject(json) ? json["cloud"] : undefined;
  if (!isObject(cloud)) throw new Error('the credentials have no "cloud" object');
  const { id, app_address: address, secret, api_key: key } = cloud;
  if (typeof id !== "string" || id === "") throw new Error("the credentials have no cloud.id");
  const origin = typeof address === "string" ? parseOrigin(address) : undefined;
  if (!origin) {
    throw new Error('cloud.app_address of the credentials must be written as "https://HOST:PORT"');
  }
  if (isObject(key) && typeof key["id"] === "string" && typeof key["key"] === "string") {
    return { origin, partId: id, entity: key["id"], type: "api-key", payload: key["key"] };
  }
  if (typeof secret !== "string" || secret === "") {
    throw new Error("the credentials have neither cloud.secret nor cloud.api_key");
  }
  return { origin, partId: id, entity: id, type: "robot-secret", payload: secret };
}
