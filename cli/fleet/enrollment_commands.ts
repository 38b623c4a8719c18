import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { UsageError } from "../../shared/base/flags/flags.ts";
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
  type Enrollment,
  EnrollmentService,
  EnrollmentState,
  type EnrollmentToken,
} from "../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import type { Confirm } from "../asking/confirm.ts";
import { chooseLocation } from "../../shared/commands/choice/location.ts";

const DAY_MS = 24 * 60 * 60_000;
const PAGE = 1_000n;

const locationFlag = {
  type: "string",
  placeholder: "ID",
  doc: "Id or name of the location. Default: the only one there is.",
} as const;
const deviceArgument = { placeholder: "DEVICE", doc: "Id, as enrollment list shows it." };

/** The options that say what a new machine begins with. */
export const templateFlags = {
  "fragments": {
    type: "string",
    placeholder: "IDS",
    doc: "Ids of fragments that it includes, with commas; ID@VERSION names a revision or tag.",
  },
  "tags": { type: "string", placeholder: "TAGS", doc: "Its agent.tags, with commas." },
} as const;

/** What such options mean. */
export function templateOf(
  { fragments, tags }: {
    readonly fragments?: string | undefined;
    readonly tags?: string | undefined;
  },
) {
  return { fragmentIds: listOf(fragments), tags: listOf(tags) };
}

/** Commands about devices that enrol themselves as machines. */
export function enrollmentCommands(confirm: Confirm): CommandTree {
  return {
    "enrollment create": command({
      summary:
        "Make a token by which devices become machines, and print it; it is not shown again.",
      showsOnce: "token",
      flags: {
        "location": locationFlag,
        "limit": { type: "integer", placeholder: "N", doc: "Machines at most. Default: 100." },
        "days": { type: "integer", placeholder: "N", doc: "It counts so long. Default: 30." },
        "never-expires": { type: "boolean", doc: "It counts until it is deleted." },
        "approve": { type: "boolean", doc: "Each device waits until an owner approves of it." },
        "pattern": {
          type: "string",
          placeholder: "NAME",
          doc: "How machines are called, with {host}, {serial}, {mac} and {n}. Default: {host}.",
        },
        ...templateFlags,
      },
      arguments: [{ placeholder: "NAME", doc: "What the token is for." }],
      async run(context, { values, arguments: [name = ""] }) {
        if (values.days !== undefined && values["never-expires"]) {
          throw new UsageError("--days and --never-expires exclude one another");
        }
        if (values.limit !== undefined && values.limit < 1) {
          throw new UsageError("--limit: a token makes 1 machine at least");
        }
        const location = await chooseLocation(context, values.location);
        const now = context.clock.now().getTime();
        const { token, enrollmentToken } = await (await clientOf(context, EnrollmentService))
          .createEnrollmentToken({
            ...{ locationId: location.id, name, template: templateOf(values) },
            ...{ maxMachines: values.limit ?? 0, needsApproval: values.approve },
            ...{ namePattern: values.pattern ?? "", neverExpires: values["never-expires"] },
            ...(values.days === undefined
              ? {}
              : { expiresAt: timestampFromMs(now + values.days * DAY_MS) }),
          });
        const { name: address } = await context.cloud();
        const image = { enrollment: { app_address: address, token } };
        return done(
          { ...(enrollmentToken ? tokenJson(enrollmentToken) : {}), token },
          [
            `token  ${token}`,
            "",
            "In an image, /etc/machine-defaults.json:",
            `  ${JSON.stringify(image)}`,
            "On a host:",
            `  MACHINE_CLOUD_ADDRESS=${address} MACHINE_ENROLLMENT_TOKEN=${token} sh install.sh`,
          ].join("\n"),
        );
      },
    }),
    "enrollment tokens": command({
      summary: "List the tokens of a location.",
      flags: { "location": locationFlag },
      async run(context, { values }) {
        const { id: locationId } = await chooseLocation(context, values.location);
        const { enrollmentTokens } = await (await clientOf(context, EnrollmentService))
          .listEnrollmentTokens({ locationId });
        const rows = enrollmentTokens.map((one) => [
          ...[one.id, one.name, `${one.used}/${one.maxMachines}`, one.namePattern],
          one.needsApproval ? "waits for approval" : "",
          one.expiresAt ? timeText(one.expiresAt) : "never",
        ]);
        const heading = ["ID", "NAME", "USED", "PATTERN", "", "EXPIRES"];
        return {
          json: enrollmentTokens.map(tokenJson),
          text: rows.length === 0
            ? `no tokens; make one with ${context.program} enrollment create NAME\n`
            : textTable([heading, ...rows], context.terminal.columns),
          ids: enrollmentTokens.map(({ id }) => id),
        };
      },
    }),
    "enrollment delete": command({
      summary: "Revoke a token. Its machines stay; devices that wait are rejected.",
      flags: { "yes": { type: "boolean", aliases: ["y"], doc: "Do not ask for confirmation." } },
      listedBy: "tokens",
      arguments: [{ placeholder: "TOKEN-ID", doc: "Id of the token." }],
      async run(context, { values, arguments: [id = ""] }) {
        await confirm(context, values.yes, `revoke enrollment token ${id}?`);
        await (await clientOf(context, EnrollmentService)).deleteEnrollmentToken({ id });
        return done({ id }, `enrollment token ${id} is deleted`);
      },
    }),
    "enrollment list": command({
      summary: "List devices that came with a token of a location, newest first.",
      flags: {
        "location": locationFlag,
        "pending": { type: "boolean", doc: "Only those that wait for approval." },
      },
      async run(context, { values }) {
        const { id: locationId } = await chooseLocation(context, values.location);
        const devices = await listDevices(context, locationId, values.pending);
        const rows = devices.map((one) => [
          ...[one.id, stateText(one), one.machineName, one.device?.hostName ?? ""],
          ...[one.device?.serial ?? "", one.address, timeText(one.lastSeenAt)],
        ]);
        const heading = ["ID", "STATE", "MACHINE", "HOST", "SERIAL", "ADDRESS", "LAST SEEN"];
        return {
          json: devices.map(deviceJson),
          text: rows.length === 0
            ? "no devices\n"
            : textTable([heading, ...rows], context.terminal.columns),
          ids: devices.map(({ id }) => id),
        };
      },
    }),
    "enrollment approve": command({
      summary: "Make a machine of a device that waits.",
      flags: {
        "name": {
          type: "string",
          placeholder: "NAME",
          doc: "What it is called. Default: by the token's pattern.",
        },
      },
      arguments: [deviceArgument],
      async run(context, { values, arguments: [id = ""] }) {
        const { machineId, machineName } = await (await clientOf(context, EnrollmentService))
          .approveEnrollment({ id, name: values.name ?? "" });
        return done({ id: machineId, name: machineName }, `the device is machine ${machineName}`);
      },
    }),
    "enrollment refuse": command({
      summary: "Turn a device away that waits.",
      flags: {},
      arguments: [deviceArgument],
      async run(context, { arguments: [id = ""] }) {
        await (await clientOf(context, EnrollmentService)).refuseEnrollment({ id });
        return done({ id }, `device ${id} is turned away`);
      },
    }),
  };
}

async function listDevices(
  context: CommandContext,
  locationId: string,
  isPending: boolean,
): Promise<Enrollment[]> {
  const client = await clientOf(context, EnrollmentService);
  const state = isPending ? EnrollmentState.PENDING : EnrollmentState.UNSPECIFIED;
  const found: Enrollment[] = [];
  let pageToken = "";
  do {
    const page = await client.listEnrollments({ locationId, state, pageToken, pageLimit: PAGE });
    found.push(...page.enrollments);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return found;
}

function listOf(text: string | undefined): string[] {
  return (text ?? "").split(",").map((one) => one.trim()).filter(Boolean);
}

function stateText({ state }: Enrollment): string {
  return EnrollmentState[state]?.toLowerCase() ?? "-";
}

function tokenJson(token: EnrollmentToken) {
  return {
    id: token.id,
    name: token.name,
    location_id: token.locationId,
    max_machines: token.maxMachines,
    used: token.used,
    needs_approval: token.needsApproval,
    name_pattern: token.namePattern,
    fragment_ids: token.template?.fragmentIds ?? [],
    tags: token.template?.tags ?? [],
    expires_at: isoTime(token.expiresAt),
  };
}

function deviceJson(one: Enrollment) {
  return {
    id: one.id,
    state: stateText(one),
    machine_id: one.machineId,
    machine_name: one.machineName,
    host_name: one.device?.hostName ?? "",
    serial: one.device?.serial ?? "",
    mac: one.device?.mac ?? "",
    platform: one.device?.platform ?? "",
    address: one.address,
    created_at: isoTime(one.createdAt),
    last_seen_at: isoTime(one.lastSeenAt),
  };
}
