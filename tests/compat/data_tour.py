"""Uploads captured data and reads it back with the published Python SDK, as a user's program would.

Arguments: cloud address (host:port), API key id, API key, organisation id, part id, a file to
upload. Writes what it found as one JSON object to the last line of standard output.
"""

import asyncio
import io
import json
import sys
import tarfile
import urllib.request
from datetime import datetime, timedelta, timezone

from grpclib import GRPCError
from viam.app.viam_client import ViamClient
from viam.proto.app.data import Filter, SequenceResourceFilter, TabularDataSourceType, TagsFilter
from viam.proto.app.datapipelines import DataPipelineRunStatus
from viam.proto.app.dataset import DatasetType, SequenceDatasetExportStatus
from viam.rpc.dial import DialOptions

import data_cases
from sdk_calls import Recorded

NOON = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)


def options(key_id, key):
    made = DialOptions.with_api_key(api_key=key, api_key_id=key_id)
    made.insecure = True
    return made


def text(time):
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).isoformat()


async def tabular(data, organization, part):
    about = {
        "part_id": part,
        "component_type": "rdk:component:sensor",
        "component_name": "climate",
        "method_name": "Readings",
    }
    times = [(NOON + timedelta(seconds=n), NOON + timedelta(seconds=n, milliseconds=5)) for n in range(3)]
    upload = {
        **about,
        "tabular_data": [{"readings": {"temperature": 20.5 + n, "ok": True}} for n in range(3)],
        "data_request_times": times,
        "tags": ["first"],
    }
    file_ids = [await data.tabular_data_capture_upload(**upload) for _ in range(2)]
    resource = {
        "part_id": part,
        "resource_name": "climate",
        "resource_api": "rdk:component:sensor",
        "method_name": "Readings",
    }
    points = await data.export_tabular_data(**resource)
    latest = await data.get_latest_tabular_data(**resource)
    page, count, last = await data.tabular_data_by_filter(Filter(component_name="climate"), limit=2)
    rest, _, _ = await data.tabular_data_by_filter(Filter(component_name="climate"), limit=2, last=last)
    total = await data.tabular_data_by_filter(Filter(component_name="climate"), count_only=True)
    sql = "SELECT time_received, data FROM readings WHERE component_name = 'climate' ORDER BY 1 LIMIT 1"
    by_sql = await data.tabular_data_by_sql(organization, sql)
    by_mql = await data.tabular_data_by_mql(organization, [
        {"$match": {"component_name": "climate"}},
        {"$group": {"_id": "$part_id", "most": {"$max": "$data.readings.temperature"}}},
    ])
    return {
        "pipelines": await pipelines(data, organization),
        "upload_ids": file_ids,
        "exported": [[text(p.time_captured), p.payload, list(p.tags), p.robot_name] for p in points],
        "latest": [text(latest[0]), latest[2]],
        "paged": [one.data["readings"]["temperature"] for one in [*page, *rest]],
        "counts": [count, total[1]],
        "sql": [text(by_sql[0]["time_received"]), by_sql[0]["data"]],
        "mql": by_mql,
        "deleted": await data.delete_tabular_data(organization, 0),
    }


async def pipelines(data, organization):
    made = await data.create_data_pipeline(
        organization, "hottest", schedule="0 * * * *", enable_backfill=True,
        mql_binary=[{"$group": {"_id": None, "most": {"$max": "$data.readings.temperature"}}}],
    )
    await data.rename_data_pipeline(made, "hottest of the hour")
    one = await data.get_data_pipeline(made)
    listed = await data.list_data_pipelines(organization)
    runs = await until(lambda: completed_runs(data, made))
    results = await data.tabular_data_by_mql(
        organization, [{"$match": {"most": {"$gt": 0}}}], pipeline_id=made,
        tabular_data_source_type=TabularDataSourceType.TABULAR_DATA_SOURCE_TYPE_PIPELINE_SINK,
    )
    await data.delete_data_pipeline(made)
    return {
        "names": [one.name, *[each.name for each in listed]],
        "about": [one.schedule, one.enabled, [list(stage) for stage in one.mql_binary]],
        "runs": [[text(run.data_start_time), text(run.data_end_time), run.error_message] for run in runs],
        "results": [result["most"] for result in results],
        "interval": text(results[0]["_viam_pipeline_run"]["interval"]["start"]),
        "left": len(await data.list_data_pipelines(organization)),
    }


async def completed_runs(data, pipeline):
    page = await data.list_data_pipeline_runs(pipeline, page_size=5)
    runs = page.runs
    assert (await page.next_page()).runs == []
    done = DataPipelineRunStatus.DATA_PIPELINE_RUN_STATUS_COMPLETED
    return runs if runs and all(run.status == done for run in runs) else None


async def until(probe):
    for _ in range(600):
        found = await probe()
        if found is not None:
            return found
        await asyncio.sleep(0.1)
    raise TimeoutError("the pipeline has not run within a minute")


async def binary(data, organization, part, path):
    dataset = await data.create_dataset("pictures", organization)
    capture = {
        "binary_data": b"\xff\xd8 a picture",
        "part_id": part,
        "component_type": "rdk:component:camera",
        "component_name": "eye",
        "method_name": "GetImages",
        "file_extension": ".jpg",
        "tags": ["night"],
        "dataset_ids": [dataset],
        "data_request_times": (NOON, NOON),
    }
    captured = [await data.binary_data_capture_upload(**capture) for _ in range(2)]
    streamed = await data.streaming_data_capture_upload(
        data=bytes(3_000_000), part_id=part, file_ext="png", data_request_times=(NOON, NOON)
    )
    filed = await data.file_upload(part_id=part, data=b"some text", file_name="notes", file_extension=".txt")
    from_path = await data.file_upload_from_path(part_id=part, filepath=path)

    everything, count, _ = await data.binary_data_by_filter(Filter(part_id=part), include_binary_data=False)
    tagged, _, _ = await data.binary_data_by_filter(Filter(tags_filter=TagsFilter(tags=["night"])))
    whole = await data.binary_data_by_ids([captured[0], filed, from_path])
    await data.add_tags_to_binary_data_by_ids(["later"], [filed])
    box = await data.add_bounding_box_to_image_by_id(captured[0], "cat", 0.1, 0.2, 0.3, 0.4)
    labelled = await data.binary_data_by_ids([captured[0]])
    await data.remove_bounding_box_from_image_by_id(box, captured[0])
    await data.add_binary_data_to_dataset_by_ids([filed], dataset)
    in_dataset, _, _ = await data.binary_data_by_filter(Filter(dataset_id=dataset), include_binary_data=False)
    datasets = await data.list_datasets_by_organization_id(organization)
    return {
        "captured": captured,
        "ids": [one.metadata.binary_data_id for one in everything],
        "others": [streamed, filed, from_path],
        "count": count,
        "tagged": [one.metadata.capture_metadata.mime_type for one in tagged],
        "whole": [one.binary.decode("latin-1") for one in whole],
        "names": [one.metadata.file_name + one.metadata.file_ext for one in whole],
        "labels": [one.label for one in labelled[0].metadata.annotations.bboxes],
        "tags": await data.tags_by_filter(),
        "in_dataset": [one.metadata.binary_data_id for one in in_dataset],
        "datasets": [one.name for one in datasets],
        "deleted": await data.delete_binary_data_by_ids([streamed]),
        "deleted_by_filter": await data.delete_binary_data_by_filter(Filter(part_id=part)),
    }


def download(url):
    with urllib.request.urlopen(url, timeout=90) as answer:
        return answer.read()


async def sequences(data, organization, part):
    walk = {
        "part_id": part,
        "component_type": "rdk:component:camera",
        "component_name": "eye",
        "method_name": "GetImages",
        "file_extension": ".jpg",
    }
    for second in range(3):
        at = NOON + timedelta(seconds=second)
        await data.binary_data_capture_upload(
            binary_data=f"picture {second}".encode(), data_request_times=(at, at), **walk
        )
    await data.tabular_data_capture_upload(
        part_id=part,
        component_type="rdk:component:sensor",
        component_name="climate",
        method_name="Readings",
        tabular_data=[{"readings": {"temperature": 20.5}}],
        data_request_times=[(NOON, NOON)],
    )
    sequence = await data.create_sequence(
        part_id=part,
        resources=[SequenceResourceFilter(resource_name="eye", method_name="GetImages")],
        start_time=NOON,
        end_time=NOON + timedelta(seconds=1),
        sequence_tags=["walk"],
    )
    one, _ = await data.get_sequence_binary_data(sequence)
    await data.update_sequence(
        sequence,
        resources=[SequenceResourceFilter(resource_name=name) for name in ("eye", "climate")],
        end_time=NOON + timedelta(seconds=2),
    )
    found = await data.get_sequence(sequence)
    two, _ = await data.get_sequence_binary_data(sequence)
    listed, _ = await data.list_sequences(organization)
    dataset = await data.create_dataset("walks", organization, DatasetType.DATASET_TYPE_SEQUENCE_DATA)
    await data.add_sequences_to_dataset(dataset, [sequence])
    in_dataset, _, count = await data.sequences_by_dataset_id(dataset)

    job = await data.start_sequence_dataset_export(dataset)
    for _ in range(600):
        export = await data.get_sequence_dataset_export(job)
        if export.status != SequenceDatasetExportStatus.SEQUENCE_DATASET_EXPORT_STATUS_RUNNING:
            break
        await asyncio.sleep(0.1)
    archive = await asyncio.to_thread(download, export.download_url)
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        contents = {name: opened.extractfile(name).read().decode() for name in opened.getnames()}
    signed, _ = await data.create_binary_data_signed_url(two[0].metadata.binary_data_id)
    try:
        await data.list_indexes(organization, 1)
        refused = ""
    except GRPCError as error:
        refused = f"{error.status.name}: {error.message}"
    await data.remove_sequences_from_dataset(dataset, [sequence])
    await data.delete_sequence(sequence)
    left, _ = await data.list_sequences(organization)
    return {
        "one": [file.binary.decode() for file in one],
        "two": [file.binary.decode() for file in two],
        "resources": [resource.resource_name for resource in found.resources],
        "tags": list(found.sequence_tags),
        "listed": [each.id == sequence for each in [*listed, *in_dataset]],
        "count": count,
        "exported": sorted(text for name, text in contents.items() if "/files/" in name),
        "readings": [json.loads(text)["data"] for name, text in contents.items() if "/readings-" in name],
        "about": json.loads(contents["dataset.json"])["name"],
        "signed": (await asyncio.to_thread(download, signed)).decode(),
        "refused": refused,
        "left": len(left),
    }


async def main(address, key_id, key, organization, part, path):
    client = await ViamClient.create_from_dial_options(options(key_id, key), address)
    try:
        data = Recorded(client.data_client)
        found = {
            "tabular": await tabular(data, organization, part),
            "binary": await binary(data, organization, part, path),
            "sequences": await sequences(data, organization, part),
        }
        for case in data_cases.CASES:
            await case(data, organization, part)
        found["uncalled"] = data.uncalled()
        print(json.dumps(found))
    finally:
        client.close()


asyncio.run(main(*sys.argv[1:]))
