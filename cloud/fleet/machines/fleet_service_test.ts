import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { FleetService } from "../../../shared/gen/machine/cloud/v1/fleet_pb.ts";
import { apiKey, failure, TestCloud } from "../../serve/cloud_testing.ts";

/** A cloud with machines in two locations, and what pages of the list hold. */
async function opened() {
  const cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const organizationId = made.org_id;
  const { location } = await app.createLocation({ organizationId, name: 'A "hall" 中' });
  for (const name of ["b", "a", "c"]) await app.newRobot({ name, location: location!.id });
  await app.newRobot({ name: "arm", location: made.location_id });
  await app.newRobotPart({ robotId: made.machine_id, partName: "camera" });
  const fleet = cloud.client(FleetService, apiKey(made));
  const pages = async (more: object = {}) => {
    const found: string[][] = [];
    let pageToken = "";
    do {
      const page = await fleet.listMachines({ organizationId, ...more, pageToken });
      found.push(
        page.locations.flatMap((each) =>
          each.machineSummaries.map(({ machineName, partSummaries }) =>
            [each.locationName, machineName, ...partSummaries.map(({ partName }) => partName)]
              .join()
          )
        ),
      );
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    return found;
  };
  return { cloud, made, app, fleet, pages, hall: location!.id };
}

const HALL = ["a", "b", "c"].map((name) => `A "hall" 中,${name},${name}-main`);
const LAB = ["Lab,arm,arm-main", "Lab,demo,demo-main,camera"];

Deno.test("ListMachines() gives each machine once, whatever the size of a page", async () => {
  const { cloud, pages, hall } = await opened();
  await using _ = cloud;
  assert.deepEqual(await pages(), [[...HALL, ...LAB]]);
  for (const size of [1, 2, 3, 4, 5, 6]) {
    const found = await pages({ pageLimit: BigInt(size) });
    assert.equal(found.length, Math.ceil(5 / size));
    assert.deepEqual(found.flat(), [...HALL, ...LAB]);
  }
  assert.deepEqual((await pages({ locationIds: [hall], pageLimit: 2n })).flat(), HALL);
});

Deno.test("ListMachines() goes on where it was when machines come and go between pages", async () => {
  const { cloud, made, app, fleet } = await opened();
  await using _ = cloud;
  const organizationId = made.org_id;
  const first = await fleet.listMachines({ organizationId, pageLimit: 2n });
  const names = (page: typeof first) =>
    page.locations.flatMap(({ machineSummaries }) => machineSummaries.map((m) => m.machineName));
  assert.deepEqual(names(first), ["a", "b"]);
  // The machine that the page ended with is deleted, one before and one behind it come.
  await app.deleteRobot({ id: first.locations[0]!.machineSummaries[1]!.machineId });
  for (const name of ["aa", "bb"]) {
    await app.newRobot({ name, location: first.locations[0]!.locationId });
  }
  const next = { organizationId, pageToken: first.nextPageToken };
  assert.deepEqual(names(await fleet.listMachines(next)), ["bb", "c", "arm", "demo"]);
});

Deno.test("ListMachines() finds machines by what they and their parts are called", async () => {
  const { cloud, made, pages } = await opened();
  await using _ = cloud;
  const [arm = "", demo = ""] = LAB;
  assert.deepEqual(await pages({ called: ["demo"] }), [[demo]]);
  assert.deepEqual(await pages({ called: [made.machine_id] }), [[demo]]);
  assert.deepEqual(await pages({ called: ["camera", "arm"] }), [[arm, demo]]);
  assert.deepEqual(await pages({ called: [made.part_id], pageLimit: 1n }), [[demo]]);
  assert.deepEqual(await pages({ called: ["dem", "%", ""] }), [[]]);
});

Deno.test("ListMachines() shows what the caller sees, and refuses what is none of its tokens", async () => {
  const { cloud, made, app, fleet, hall } = await opened();
  await using _ = cloud;
  const { id, key } = await app.createKey({
    name: "hall",
    authorizations: [{
      ...{ authorizationType: "role", authorizationId: "location_operator" },
      ...{ resourceType: "location", resourceId: hall },
    }],
  });
  const narrow = cloud.client(FleetService, { type: "api-key", entity: id, payload: key });
  const organizationId = made.org_id;
  const { locations } = await narrow.listMachines({ organizationId });
  assert.deepEqual(locations.map(({ locationName }) => locationName), ['A "hall" 中']);
  // A position that it made up shows nothing more.
  const made_up = btoa(JSON.stringify(["", "", "", ""]));
  const again = await narrow.listMachines({ organizationId, pageToken: made_up });
  assert.equal(again.locations.length, 1);
  assert.deepEqual((await narrow.listMachines({ organizationId, called: ["demo"] })).locations, []);
  const locationIds = [made.location_id];
  const foreign = await failure(narrow.listMachines({ organizationId, locationIds }));
  assert.equal(foreign.code, Code.NotFound);
  for (
    const pageToken of ["x", "%%%", btoa("[1,2,3,4]"), btoa('["a"]'), btoa('["","","","\\u0000"]')]
  ) {
    const wrong = await failure(fleet.listMachines({ organizationId, pageToken }));
    assert.deepEqual([pageToken, wrong.code], [pageToken, Code.InvalidArgument]);
  }
  const negative = await failure(fleet.listMachines({ organizationId, pageLimit: -1n }));
  assert.equal(negative.code, Code.InvalidArgument);
  const many = await failure(
    fleet.listMachines({ organizationId, called: Array(1_001).fill("a") }),
  );
  assert.equal(many.code, Code.InvalidArgument);
});
