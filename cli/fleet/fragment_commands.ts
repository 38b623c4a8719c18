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
import {
  AppService,
  type Fragment,
  FragmentVisibility,
} from "../../shared/gen/viam/app/v1/app_pb.ts";
import { parseConfig } from "../config/part_config.ts";
import type { Confirm } from "../asking/confirm.ts";
import { namesOfAccounts } from "./account_names.ts";

const VISIBILITIES = {
  private: FragmentVisibility.PRIVATE,
  public: FragmentVisibility.PUBLIC,
  public_unlisted: FragmentVisibility.PUBLIC_UNLISTED,
} as const;

export const fragmentArgument = { placeholder: "FRAGMENT", doc: "Id or name of the fragment." };
const visibilityFlag = {
  "visibility": {
    type: "string",
    choices: ["private", "public", "public_unlisted"],
    placeholder: "WHO",
    doc: "Who may use it: the organisation, everybody, or everybody without it being listed.",
  },
} as const;

/** Commands about configurations that many machines share. */
export function fragmentCommands(confirm: Confirm): CommandTree {
  return {
    "fragments list": command({
      summary: "List the fragments of the organisation.",
      flags: {
        "public": { type: "boolean", doc: "Those of others, too, that everybody may use." },
      },
      async run(context, { values }) {
        const fragments = await listFragments(context, values.public);
        const rows = fragments.map((one) => [
          ...[one.id, one.name, visibilityName(one), String(one.robotPartCount)],
          timeText(one.lastUpdated ?? one.createdOn),
        ]);
        const heading = ["ID", "FRAGMENT", "VISIBLE TO", "PARTS", "SAVED"];
        return {
          json: fragments.map(fragmentJson),
          text: rows.length === 0
            ? `no fragments; make one with ${context.program} fragments create NAME FILE\n`
            : textTable([heading, ...rows], context.terminal.columns),
          ids: fragments.map(({ id }) => id),
        };
      },
    }),
    "fragments get": command({
      summary: "Print the configuration of a fragment.",
      flags: {},
      arguments: [fragmentArgument],
      async run(context, { arguments: [wanted = ""] }) {
        const fragment = await chooseFragment(context, wanted);
        const text = fragment.fragmentConfigJson ||
          JSON.stringify(fragment.fragment ?? {}, null, 2);
        return {
          json: { ...fragmentJson(fragment), config: fragment.fragment ?? {} },
          text: text.endsWith("\n") ? text : `${text}\n`,
          ids: [fragment.id],
        };
      },
    }),
    "fragments create": command({
      summary: "Make a fragment of a file.",
      flags: visibilityFlag,
      arguments: [
        { placeholder: "NAME", doc: "What it is called." },
        { placeholder: "FILE", doc: "A configuration as JSON." },
      ],
      async run(context, { values: { visibility }, arguments: [name = "", file = ""] }) {
        const { value: config } = await readConfig(file);
        const { id: organizationId } = await chooseOrganization(context);
        const { fragment } = await (await clientOf(context, AppService)).createFragment({
          ...{ name, config, organizationId },
          ...(visibility === undefined ? {} : { visibility: VISIBILITIES[visibility] }),
        });
        return done(
          fragment ? fragmentJson(fragment) : { name },
          `fragment ${name} is made: ${fragment?.id}`,
        );
      },
    }),
    "fragments set": command({
      summary: "Replace a fragment by a file; machines that use it follow.",
      flags: visibilityFlag,
      arguments: [fragmentArgument, { placeholder: "FILE", doc: "A configuration as JSON." }],
      async run(context, { values: { visibility }, arguments: [wanted = "", file = ""] }) {
        const { text, value: config } = await readConfig(file);
        const { id, name, lastUpdated } = await chooseFragment(context, wanted);
        const { fragment } = await (await clientOf(context, AppService)).updateFragment({
          ...{ id, name, config, fragmentConfigJson: text },
          ...(lastUpdated ? { lastKnownUpdate: lastUpdated } : {}),
          ...(visibility === undefined ? {} : { visibility: VISIBILITIES[visibility] }),
        });
        return done(fragment ? fragmentJson(fragment) : { id }, `saved fragment ${name}`);
      },
    }),
    "fragments history": command({
      summary: "List the revisions of a fragment.",
      flags: {},
      arguments: [fragmentArgument],
      async run(context, { arguments: [wanted = ""] }) {
        const { id } = await chooseFragment(context, wanted);
        const app = await clientOf(context, AppService);
        const { history } = await app.getFragmentHistory({ id });
        const names = await namesOfAccounts(context);
        const nameOf = (by = "") => names.get(by) ?? by;
        const rows = history.map(({ revision, editedOn, editedBy }) => [
          ...[revision, timeText(editedOn), nameOf(editedBy?.value) || "-"],
        ]);
        return {
          json: history.map(({ revision, editedOn, editedBy, config }) => ({
            ...{ revision, saved_at: isoTime(editedOn), saved_by: editedBy?.value ?? "" },
            saved_by_name: names.get(editedBy?.value ?? "") ?? "",
            config,
          })),
          text: textTable([["REVISION", "SAVED", "BY"], ...rows], context.terminal.columns),
          ids: history.map(({ revision }) => revision),
        };
      },
    }),
    "fragments delete": command({
      summary: "Delete a fragment that no machine uses.",
      flags: { "yes": { type: "boolean", aliases: ["y"], doc: "Do not ask for confirmation." } },
      arguments: [fragmentArgument],
      async run(context, { values, arguments: [wanted = ""] }) {
        const { id, name } = await chooseFragment(context, wanted);
        await confirm(context, values.yes, `delete fragment ${name} (${id})?`);
        await (await clientOf(context, AppService)).deleteFragment({ id });
        return done({ id, name }, `deleted fragment ${name}`);
      },
    }),
  };
}

async function listFragments(context: CommandContext, showPublic: boolean): Promise<Fragment[]> {
  const { id: organizationId } = await chooseOrganization(context);
  const app = await clientOf(context, AppService);
  return (await app.listFragments({
    ...{ organizationId, showPublic },
    fragmentVisibility: Object.values(VISIBILITIES),
  })).fragments;
}

/** The fragment of the organisation with that id or name. @throws {UsageError} */
export async function chooseFragment(context: CommandContext, wanted: string): Promise<Fragment> {
  const fitting = (await listFragments(context, false))
    .filter(({ id, name }) => id === wanted || name === wanted);
  const [only] = fitting;
  if (only && fitting.length === 1) {
    const { fragment } = await (await clientOf(context, AppService)).getFragment({ id: only.id });
    return fragment ?? only;
  }
  const problem = only ? "several fragments are" : "there is no fragment";
  throw new UsageError(
    `${problem} called ${
      JSON.stringify(wanted)
    }; ${context.program} fragments list shows their ids`,
  );
}

async function readConfig(file: string) {
  const text = await Deno.readTextFile(file).catch((error) => {
    throw toFileError(error, "read the fragment", file);
  });
  return { text, value: parseConfig(text, file) };
}

function visibilityName({ visibility }: Fragment): string {
  const found = Object.entries(VISIBILITIES).find(([, each]) => each === visibility);
  return found?.[0] ?? "private";
}

function fragmentJson(fragment: Fragment) {
  return {
    id: fragment.id,
    name: fragment.name,
    visibility: visibilityName(fragment),
    revision: fragment.revision,
    parts: fragment.robotPartCount,
    last_updated: isoTime(fragment.lastUpdated),
  };
}
