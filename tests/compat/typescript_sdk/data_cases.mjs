// What is captured, datasets and pipelines, by the calls of DataClient.
import { CODE, equal, refused } from "./calls.mjs";

const NOON = new Date("2026-01-02T12:00:00Z");

const climate = ["rdk:component:sensor", "climate", "Readings"];

async function tabular({ data, organization, part }) {
  const readings = [{ readings: { temperature: 20.5 } }, {
    readings: { temperature: 21.5 },
  }];
  const times = readings.map((
    _,
    n,
  ) => [
    new Date(NOON.getTime() + n * 1000),
    new Date(NOON.getTime() + n * 1000),
  ]);
  await data.tabularDataCaptureUpload(readings, part, ...climate, times, [
    "first",
  ]);
  const source = [part, "climate", "rdk:component:sensor", "Readings"];
  const points = await data.exportTabularData(...source);
  equal(points.map(({ payload }) => payload), readings);
  const [, , latest] = await data.getLatestTabularData(...source);
  equal(latest, readings[1]);
  equal(
    await data.getLatestTabularData(
      part,
      "none",
      "rdk:component:sensor",
      "Readings",
    ),
    null,
  );
  const page = await data.tabularDataByFilter(undefined, 1);
  equal([page.data.length, page.data[0].data], [1, readings[0]]);
  const sql = "SELECT component_name FROM readings LIMIT 1";
  equal(await data.tabularDataBySQL(organization, sql), [{
    component_name: "climate",
  }]);
  const most = [{
    $group: { _id: "$part_id", most: { $max: "$data.readings.temperature" } },
  }];
  equal(await data.tabularDataByMQL(organization, most), [{
    _id: part,
    most: 21.5,
  }]);

  const pipeline = await data.createDataPipeline(
    organization,
    "hottest",
    most,
    "0 * * * *",
    false,
  );
  equal((await data.getDataPipeline(pipeline)).name, "hottest");
  equal((await data.listDataPipelines(organization)).map(({ id }) => id), [
    pipeline,
  ]);
  equal((await data.listDataPipelineRuns(pipeline, 5)).runs, []);
  await data.deleteDataPipeline(pipeline);
  equal(await data.listDataPipelines(organization), []);
  equal(await data.deleteTabularData(organization, 0), 2n);
}

async function binary({ data, organization, part }) {
  const bytes = new TextEncoder().encode("a picture");
  const camera = ["rdk:component:camera", "eye", "GetImages"];
  const picture = await data.binaryDataCaptureUpload(
    bytes,
    part,
    ...camera,
    "png",
    [NOON, NOON],
    [
      "night",
    ],
  );
  const file = await data.binaryDataCaptureUpload(
    bytes,
    part,
    ...camera,
    "txt",
    [NOON, NOON],
  );
  // By fetch the SDK cannot send a stream, in browsers neither; the request does not leave it.
  const upload = data.fileUpload(bytes, part, { fileName: "notes" });
  await refused(
    upload,
    CODE.unknown,
    "does not support streaming request bodies",
  );
  const about = async (id) => (await data.binaryDataByIds([id]))[0];
  equal((await about(file)).binary, bytes);
  const { count } = await data.binaryDataByFilter(
    undefined,
    50,
    undefined,
    "",
    false,
  );
  equal(count, 2n);
  const answer = await fetch(await data.createBinaryDataSignedURL(picture));
  equal(await answer.text(), "a picture");

  const night = { tagsFilter: { tags: ["night"] } };
  await data.addTagsToBinaryDataByIds(["x"], [file]);
  await data.addTagsToBinaryDataByFilter(["y"], night);
  equal(await data.tagsByFilter(), ["night", "x", "y"]);
  equal(await data.removeTagsFromBinaryDataByFilter(["y"], night), 1n);
  equal(await data.removeTagsFromBinaryDataByIds(["x"], [file]), 1n);

  const box = await data.addBoundingBoxToImageById(
    picture,
    "cat",
    0.1,
    0.2,
    0.3,
    0.4,
  );
  await data.updateBoundingBox(picture, box, "dog", 0.2, 0.3, 0.4, 0.5);
  equal(await data.boundingBoxLabelsByFilter(), ["dog"]);
  await data.removeBoundingBoxFromImageById(picture, box);
  equal(await data.boundingBoxLabelsByFilter(), []);

  const dataset = await data.createDataset("pictures", organization);
  await data.addBinaryDataToDatasetByIds([picture], dataset);
  const within = async () => (await data.binaryDataByFilter({ datasetId: dataset })).data.length;
  equal(await within(), 1);
  await data.removeBinaryDataFromDatasetByIds([picture], dataset);
  equal(await within(), 0);
  await data.renameDataset(dataset, "photos");
  equal((await data.listDatasetsByIds([dataset])).map(({ name }) => name), [
    "photos",
  ]);
  await data.deleteDataset(dataset);
  equal(await data.listDatasetsByOrganizationID(organization), []);
  equal(await data.deleteBinaryDataByIds([file]), 1n);
  equal(await data.deleteBinaryDataByFilter(undefined), 1n);
}

async function absent({ data, organization }) {
  const database = "no database that clients of MongoDB connect to";
  await refused(
    data.configureDatabaseUser(organization, "x"),
    CODE.unimplemented,
    database,
  );
  await refused(
    data.getDatabaseConnection(organization),
    CODE.unimplemented,
    database,
  );
  await refused(
    data.createIndex(organization, 1, { keys: { x: 1 } }),
    CODE.unimplemented,
    "no indexes",
  );
  await refused(
    data.listIndexes(organization, 1),
    CODE.unimplemented,
    "no indexes",
  );
  await refused(
    data.deleteIndex(organization, 1, "x"),
    CODE.unimplemented,
    "no indexes",
  );
}

export const CASES = [tabular, binary, absent];
