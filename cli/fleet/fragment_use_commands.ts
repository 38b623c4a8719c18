import { textTable } from "../../shared/commands/output/text_table.ts";
import {
  clientOf,
  command,
  type CommandContext,
  type CommandTree,
  done,
} from "../../shared/commands/run/command.ts";
import {
  ConfigurationService,
  type PartDrift,
} from "../../shared/gen/machine/cloud/v1/configuration_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { chooseFragment, fragmentArgument } from "./fragment_commands.ts";

const tagArgument = {
  placeholder: "TAG",
  doc: "What machines name as version, stable for example.",
};

/** Commands about which revision of a fragment machines get, and what they make of it. */
export const fragmentUseCommands: CommandTree = {
  "fragments tag": command({
    summary: "Put a tag on a revision of a fragment; machines that include the tag follow.",
    flags: {},
    arguments: [fragmentArgument, tagArgument, {
      placeholder: "REVISION",
      doc: "As fragments history lists them. Default: the newest.",
      optional: true,
    }],
    async run(context, { arguments: [wanted = "", tag = "", given] }) {
      const { id, name, revision: newest } = await chooseFragment(context, wanted);
      const revision = given ?? newest;
      const app = await clientOf(context, AppService);
      const { tags } = await app.setFragmentTag({ fragmentId: id, tag, revision });
      return done(
        { id, name, tags: tags.map((each) => ({ tag: each.tag, revision: each.revision })) },
        `${tag} of fragment ${name} is revision ${revision} now`,
      );
    },
  }),
  "fragments untag": command({
    summary: "Take a tag off a fragment.",
    flags: {},
    arguments: [fragmentArgument, tagArgument],
    async run(context, { arguments: [wanted = "", tag = ""] }) {
      const { id, name } = await chooseFragment(context, wanted);
      const app = await clientOf(context, AppService);
      const { tags } = await app.deleteFragmentTag({ fragmentId: id, tag });
      return done(
        { id, name, tags: tags.map((each) => ({ tag: each.tag, revision: each.revision })) },
        `fragment ${name} has no tag ${tag} now`,
      );
    },
  }),
  "fragments drift": command({
    summary: "List the machines that differ from a fragment, and where.",
    flags: {},
    arguments: [fragmentArgument],
    async run(context, { arguments: [wanted = ""] }) {
      const { id, name } = await chooseFragment(context, wanted);
      const parts = await readDrift(context, id);
      const rows = parts.map((one) => [
        ...[one.machineName, one.partId],
        one.revision === one.newestRevision
          ? one.revision
          : `${one.revision} of ${one.newestRevision}`,
        one.problem || one.changedPaths.join(", ") || "-",
      ]);
      const heading = ["MACHINE", "PART", "REVISION", "DIFFERS"];
      return {
        json: parts.map((one) => ({
          part_id: one.partId,
          machine_id: one.machineId,
          machine_name: one.machineName,
          revision: one.revision,
          newest_revision: one.newestRevision,
          changed_paths: one.changedPaths,
          problem: one.problem,
        })),
        text: parts.length === 0
          ? `no machine differs from fragment ${name}\n`
          : textTable([heading, ...rows], context.terminal.columns),
        ids: parts.map(({ partId }) => partId),
      };
    },
  }),
};

async function readDrift(context: CommandContext, fragmentId: string): Promise<PartDrift[]> {
  const client = await clientOf(context, ConfigurationService);
  const found: PartDrift[] = [];
  for (let pageToken = "";;) {
    const page = await client.getFragmentDrift({ fragmentId, pageToken });
    found.push(...page.parts);
    pageToken = page.nextPageToken;
    if (pageToken === "") return found;
  }
}
