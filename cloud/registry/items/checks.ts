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
  requireValid("url", url ? urlProblem(url) : undefined);
  requireValid("description", lengthProblem(description, LONGEST_TEXT));
  requireValid("markdown_description", lengthProblem(markdown, LONGEST_MARKDOWN));
}

/** Throws INVALID_ARGUMENT that names the field, for example `models[0].api`. */
export function checkModuleDetails(
  details: { models: readonly Model[]; entrypoint: string; firstRun?: string | undefined },
): void {
  const { models, entrypoint, firstRun } = details;
  requireValid("entrypoint", entrypoint === "" ? undefined : innerPathProblem(entrypoint));
  requireValid("first_run", firstRun ? innerPathProblem(firstRun) : undefined);
  const tooMany = models.length > MOST_MODELS ? `${MOST_MODELS} are allowed` : undefined;
  requireValid("models", tooMany);
  models.forEach(({ api, model }, at) => {
    requireValid(`models[${at}].api`, tripletProblem(api, "rdk:component:sensor"));
    requireValid(`models[${at}].model`, tripletProblem(model, "acme:weather:station"));
  });
}

function tripletProblem(text: string, example: string): string | undefined {
  if (TRIPLET.test(text) && text.length <= LONGEST_TEXT) return undefined;
  return `${JSON.stringify(text)} has not the form of ${example}`;
}

function urlProblem(text: string): string | undefined {
  const url = URL.parse(text);
  const isWeb = url && ["http:", "https:"].includes(url.protocol) && text.length <= LONGEST_TEXT;
  return isWeb ? undefined : `${JSON.stringify(text)} is no web address`;
}

function lengthProblem(text: string | undefined, longest: number): string | undefined {
  if (text === undefined || text.length <= longest) return undefined;
  return `it is longer than ${longest} characters`;
}
