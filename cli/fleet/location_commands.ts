import { UsageError } from "../../shared/base/flags/flags.ts";
import { chooseOrganization } from "../../shared/commands/choice/organization.ts";
import { chooseLocation, listLocations } from "../../shared/commands/choice/location.ts";
import { textTable } from "../../shared/commands/output/text_table.ts";
import { isoTime } from "../../shared/commands/output/times.ts";
import { clientOf, command, type CommandTree, done } from "../../shared/commands/run/command.ts";
import { AppService, type Location } from "../../shared/gen/viam/app/v1/app_pb.ts";
import type { Confirm } from "../asking/confirm.ts";

const locationArgument = { placeholder: "LOCATION", doc: "Id or name of the location." };
const guestArgument = {
  placeholder: "ORGANIZATION",
  doc: "Id of the other organisation; its members find it with organizations list.",
};
const parentFlag = {
  type: "string",
  placeholder: "ID",
  doc: "Id or name of the location that it is in.",
} as const;

/** Commands about locations. */
export function locationCommands(confirm: Confirm): CommandTree {
  return {
    "locations list": command({
      summary: "List locations.",
      flags: {},
      async run(context) {
        const locations = await listLocations(context);
        const names = new Map(locations.map(({ id, name }) => [id, name]));
        const rows = locations.map(({ id, name, parentLocationId, robotCount }) => [
          ...[id, name, names.get(parentLocationId) ?? parentLocationId, String(robotCount)],
        ]);
        const text = rows.length === 0
          ? `no locations; make one with ${context.program} locations create NAME\n`
          : textTable([["ID", "LOCATION", "IN", "MACHINES"], ...rows], context.terminal.columns);
        return { json: locations.map(locationJson), text, ids: locations.map(({ id }) => id) };
      },
    }),
    "locations create": command({
      summary: "Make a location.",
      flags: { "parent": parentFlag },
      arguments: [{ placeholder: "NAME", doc: "What it is called." }],
      async run(context, { values: { parent }, arguments: [name = ""] }) {
        const { id: organizationId } = await chooseOrganization(context);
        const app = await clientOf(context, AppService);
        const { location } = await app.createLocation({
          ...{ organizationId, name },
          ...(parent === undefined
            ? {}
            : { parentLocationId: (await chooseLocation(context, parent)).id }),
        });
        return done(
          location ? locationJson(location) : {},
          `location ${name} is made: ${location?.id}`,
        );
      },
    }),
    "locations rename": command({
      summary: "Give a location another name, or put it into another one.",
      flags: {
        "parent": parentFlag,
        "top": { type: "boolean", doc: "Take it out of the location that it is in." },
      },
      arguments: [locationArgument, { placeholder: "NAME", doc: "The new name.", optional: true }],
      async run(context, { values: { parent, top }, arguments: [wanted = "", name] }) {
        if (name === undefined && parent === undefined && !top) {
          throw new UsageError("give the new NAME, or --parent ID or --top to move it");
        }
        if (parent !== undefined && top) {
          throw new UsageError("--parent and --top exclude one another");
        }
        const location = await chooseLocation(context, wanted);
        const app = await clientOf(context, AppService);
        const { location: saved } = await app.updateLocation({
          locationId: location.id,
          ...(name === undefined ? {} : { name }),
          ...(top ? { parentLocationId: "" } : {}),
          ...(parent === undefined
            ? {}
            : { parentLocationId: (await chooseLocation(context, parent)).id }),
        });
        return done(
          saved ? locationJson(saved) : { id: location.id },
          `location ${location.name} is saved`,
        );
      },
    }),
    "locations share": command({
      summary: "Let the members of another organisation operate the machines of a location.",
      flags: {},
      arguments: [locationArgument, guestArgument],
      listedBy: "",
      async run(context, { arguments: [wanted = "", organizationId = ""] }) {
        const { id, name } = await chooseLocation(context, wanted);
        await (await clientOf(context, AppService)).shareLocation({
          ...{ locationId: id, organizationId },
        });
        return done(
          { id, name, organization_id: organizationId },
          `location ${name} is shared with organisation ${organizationId}`,
        );
      },
    }),
    "locations unshare": command({
      summary: "Stop sharing a location; what its guests have open is closed.",
      flags: {},
      arguments: [locationArgument, guestArgument],
      listedBy: "",
      async run(context, { arguments: [wanted = "", organizationId = ""] }) {
        const { id, name } = await chooseLocation(context, wanted);
        await (await clientOf(context, AppService)).unshareLocation({
          ...{ locationId: id, organizationId },
        });
        return done(
          { id, name, organization_id: organizationId },
          `location ${name} is not shared with organisation ${organizationId} any more`,
        );
      },
    }),
    "locations delete": command({
      summary: "Delete a location that holds no machines.",
      flags: { "yes": { type: "boolean", aliases: ["y"], doc: "Do not ask for confirmation." } },
      arguments: [locationArgument],
      async run(context, { values, arguments: [wanted = ""] }) {
        const { id, name } = await chooseLocation(context, wanted);
        await confirm(context, values.yes, `delete location ${name} (${id})?`);
        await (await clientOf(context, AppService)).deleteLocation({ locationId: id });
        return done({ id, name }, `deleted location ${name}`);
      },
    }),
  };
}

function locationJson(location: Location) {
  return {
    id: location.id,
    name: location.name,
    parent_location_id: location.parentLocationId,
    organization_ids: location.organizations.map(({ organizationId }) => organizationId),
    machines: location.robotCount,
    created_on: isoTime(location.createdOn),
  };
}
