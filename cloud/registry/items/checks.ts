import type { Model } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { innerPathProblem } from "../../../shared/registry/item_rules.ts";
import { requireValid } from "../packages/names.ts";

const LONGEST_TEXT = 1_000;
const LONGEST_MARKDOWN = 256 * 1024;
const MOST_MODELS = 200;
const TRIPLET = /^[\w-]+:[\w-]+:[\w-]+$/;

/** Throws INVALID_ARGUMENT that names the field. Undefined is fine everywhere. */
export function checkItemTexts(
  texts: {
    url?: string | undefined;
    description?: string | undefined;
    markdown?: string | undefined;
  },
): void {
  const { url, description, markdown } = texts;
  requireValid("url", url ? urlProblem(url) : undefined, "WEB_ADDRESS_INVALID", { url: url ?? "" });
  requireLength("description", description, LONGEST_TEXT);
  requireLength("markdown_description", markdown, LONGEST_MARKDOWN);
}

/** Throws INVALID_ARGUMENT that names the field, for example `models[0].api`. */
export function checkModuleDetails(
  details: { models: readonly Model[]; entrypoint: string; firstRun?: string | undefined },
): void {
  const { models, entrypoint, firstRun } = details;
  requirePath("entrypoint", entrypoint);
  requirePath("first_run", firstRun);
  const tooMany = models.length > MOST_MODELS ? `${MOST_MODELS} are allowed` : undefined;
  requireValid("models", tooMany, "TOO_MANY", { most: MOST_MODELS });
  models.forEach(({ api, model }, at) => {
    requireTriplet(`models[${at}].api`, api, "rdk:component:sensor");
    requireTriplet(`models[${at}].model`, model, "acme:weather:station");
  });
}

function requirePath(field: string, path: string | undefined): void {
  const problem = path ? innerPathProblem(path) : undefined;
  requireValid(field, problem, "PATH_INVALID", { path: path ?? "" });
}

function requireTriplet(field: string, text: string, example: string): void {
  if (TRIPLET.test(text) && text.length <= LONGEST_TEXT) return;
  const problem = `${JSON.stringify(text)} has not the form of ${example}`;
  requireValid(field, problem, "TRIPLET_INVALID", { text, example });
}

function urlProblem(text: string): string | undefined {
  const url = URL.parse(text);
  const isWeb = url && ["http:", "https:"].includes(url.protocol) && text.length <= LONGEST_TEXT;
  return isWeb ? undefined : `${JSON.stringify(text)} is no web address`;
}

function requireLength(field: string, text: string | undefined, most: number): void {
  if (text === undefined || text.length <= most) return;
  requireValid(field, `it is longer than ${most} characters`, "TOO_LONG", { most });
}
