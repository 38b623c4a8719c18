import assert from "node:assert/strict";
import { Clusters, machinesIn, type PlacedMachine, viewIn, viewText } from "./clusters.ts";

const WORLD = [-180, -85, 180, 85] as const;

function machine(id: string, latitude: number, longitude: number, isOnline = true): PlacedMachine {
  return {
    ...{ id, name: id, locationId: "l", location: "Lab", partId: `p-${id}` },
    ...{ lastSeen: undefined, serverVersion: "", agentVersion: "", platform: "", tags: [] },
    ...{ configError: "", unhealthy: 0, canManage: true },
    state: isOnline ? "online" : "offline",
    position: { latitude, longitude },
  };
}
const isOffline = ({ state }: PlacedMachine | { state: string }) => state === "offline";

Deno.test("Clusters join what is near, say how many need somebody, and fall apart deeper", () => {
  const clusters = new Clusters([
    machine("munich", 48.14, 11.58),
    machine("augsburg", 48.37, 10.9, false),
    machine("sydney", -33.87, 151.21),
  ], isOffline);
  const items = clusters.in(WORLD, 2);
  const cluster = items.find(({ kind }) => kind === "cluster");
  assert.ok(cluster?.kind === "cluster");
  assert.deepEqual([items.length, cluster.count, cluster.needing], [2, 2, 1]);
  assert.deepEqual(clusters.machinesOf(cluster.id).map(({ id }) => id).sort(), [
    "augsburg",
    "munich",
  ]);
  const zoom = clusters.expansionZoom(cluster.id) ?? 0;
  assert.equal(clusters.in(WORLD, zoom).length, 3);
});

Deno.test("Clusters of machines at one place never fall apart", () => {
  const clusters = new Clusters([machine("a", 1, 1), machine("b", 1, 1)], isOffline);
  const [cluster] = clusters.in(WORLD, 18);
  assert.ok(cluster?.kind === "cluster");
  assert.equal(clusters.expansionZoom(cluster.id), undefined);
});

Deno.test("machinesIn() finds them on a map that was turned around the globe", () => {
  const all = [machine("fiji", -18, 178), machine("lab", 50, 10)];
  assert.deepEqual(machinesIn(all, [-200, -30, -170, 0]).map(({ id }) => id), ["fiji"]);
});

Deno.test("viewIn() reads what viewText() writes, and nothing else", () => {
  const view = { latitude: -33.8671, longitude: 151.2, zoom: 7 };
  assert.deepEqual(viewIn(viewText(view)), view);
  for (const wrong of ["", "1,2", "91,0,3", "0,0,40", "a,b,c"]) {
    assert.equal(viewIn(wrong), undefined, wrong);
  }
});
