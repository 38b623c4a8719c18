"""Trains with the published Python SDK, as a user's program would.

First argument: what to do, `submit` or `finish`. Then the cloud's address (host:port), API key id, API
key and organisation id; then for `submit` the part's id and the id of a training script, for
`finish` the ids of the jobs `good`, `empty` and `slow`. Writes what it found as one JSON object to
the last line of standard output.
"""

import asyncio
import json
import sys
from datetime import datetime, timezone

from grpclib.exceptions import GRPCError
from viam.app.viam_client import ViamClient
from viam.proto.app.mltraining import (
    GetTrainingJobLogsRequest,
    ListSupportedContainersRequest,
    ModelType,
    TrainingStatus,
)
from viam.rpc.dial import DialOptions

from sdk_calls import Recorded

NOON = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)


def options(key_id, key):
    made = DialOptions.with_api_key(api_key=key, api_key_id=key_id)
    made.insecure = True
    return made


async def refusal(call):
    try:
        await call
    except GRPCError as error:
        return [error.status.name, error.message]
    return ["OK", ""]


async def dataset(data, organization, part, name, pictures):
    made = await data.create_dataset(name, organization)
    for number in range(pictures):
        await data.binary_data_capture_upload(
            binary_data=b"\xff\xd8 %s %d" % (name.encode(), number),
            part_id=part,
            component_type="rdk:component:camera",
            component_name="eye",
            method_name="GetImages",
            file_extension=".jpg",
            tags=[name],
            dataset_ids=[made],
            data_request_times=(NOON, NOON),
        )
    return made


async def submit(client, training, organization, part, script):
    before = await training.list_training_jobs(organization)
    jobs = {}
    for name, pictures in [("good", 3), ("empty", 0), ("slow", 1)]:
        jobs[name] = await training.submit_custom_training_job(
            org_id=organization,
            dataset_id=await dataset(client.data_client, organization, part, name, pictures),
            registry_item_id=script,
            registry_item_version="1.0.0",
            model_name=f"{name}-model",
            model_version="1",
        )
    managed = {
        "org_id": organization,
        "dataset_id": await dataset(client.data_client, organization, part, "few", 2),
        "model_name": "managed-model",
        "model_version": "1",
        "model_type": ModelType.MODEL_TYPE_SINGLE_LABEL_CLASSIFICATION,
        "tags": ["few", "many"],
    }
    containers = await training.list_containers(organization)
    supported = await training._ml_training_client.ListSupportedContainers(
        ListSupportedContainersRequest(), metadata=training._metadata
    )
    listed = await training.list_training_jobs(organization)
    return {
        "before": len(before),
        "jobs": jobs,
        "listed": [job.id for job in listed],
        "managed": await refusal(training.submit_training_job(**managed)),
        "no_tags": await refusal(training.submit_training_job(**{**managed, "tags": []})),
        "containers": [one.key for one in containers],
        "supported": sorted(supported.container_map),
        "container": (await training.get_container(containers[0].id)).key if containers else None,
        "register": await refusal(training.register_custom_training_container(organization, "x", "y")),
        "unregister": await refusal(training.delete_custom_training_container("x")),
    }


async def logs_of(training, id):
    lines, token = [], ""
    while True:
        page = await training._ml_training_client.GetTrainingJobLogs(
            GetTrainingJobLogsRequest(id=id, page_token=token), metadata=training._metadata
        )
        lines += [[entry.level, entry.message] for entry in page.logs]
        token = page.next_page_token
        if token == "":
            return lines


def told(job):
    return {
        "status": TrainingStatus.Name(job.status),
        "error": [job.error_status.code, job.error_status.message],
        "model": [job.model_name, job.model_version, job.synced_model_id],
        "script": [job.is_custom_job, job.registry_item_id, job.registry_item_version],
        "times": [
            job.HasField(name)
            for name in ("created_on", "last_modified", "training_started", "training_ended")
        ],
    }


async def finish(client, training, organization, good, empty, slow):
    async def ids(status):
        return [job.id for job in await training.list_training_jobs(organization, status)]

    running = await ids(TrainingStatus.TRAINING_STATUS_IN_PROGRESS)
    early = await refusal(training.delete_completed_training_job(slow))
    await training.cancel_training_job(slow)
    for _ in range(300):
        canceled = await training.get_training_job(slow)
        if canceled.status == TrainingStatus.TRAINING_STATUS_CANCELED:
            break
        await asyncio.sleep(0.1)
    found = {
        "running": running,
        "early": early,
        "good": told(await training.get_training_job(good)),
        "empty": told(await training.get_training_job(empty)),
        "slow": told(canceled),
        "logs": await logs_of(training, good),
        "completed": await ids(TrainingStatus.TRAINING_STATUS_COMPLETED),
        "failed": await ids(TrainingStatus.TRAINING_STATUS_FAILED),
        "again": await refusal(training.cancel_training_job(slow)),
        "unknown": await refusal(training.cancel_training_job("none")),
    }
    for id in (good, empty, slow):
        await training.delete_completed_training_job(id)
    found["gone"] = await refusal(training.get_training_job(good))
    found["left"] = len(await training.list_training_jobs(organization))
    return found


async def main(what, address, key_id, key, *args):
    client = await ViamClient.create_from_dial_options(options(key_id, key), address)
    try:
        training = Recorded(client.ml_training_client)
        found = await {"submit": submit, "finish": finish}[what](client, training, *args)
        print(json.dumps({**found, "uncalled": training.uncalled()}))
    finally:
        client.close()


asyncio.run(main(*sys.argv[1:]))
