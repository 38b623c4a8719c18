"""Tags what the cameras circle, square and triangle have taken, and puts it into a dataset.

python make_dataset.py ADDRESS, as 127.0.0.1:8080; the API key of an owner of the organisation is in
MACHINE_CLOUD_API_KEY_ID and MACHINE_CLOUD_API_KEY.
"""

import asyncio
import os
import sys

from viam.app.viam_client import ViamClient
from viam.proto.app.data import Filter
from viam.rpc.dial import DialOptions

SHAPES = ("circle", "square", "triangle")


async def connect(address):
    options = DialOptions.with_api_key(
        api_key=os.environ["MACHINE_CLOUD_API_KEY"],
        api_key_id=os.environ["MACHINE_CLOUD_API_KEY_ID"],
    )
    options.insecure = True  # this cloud has no TLS
    return await ViamClient.create_from_dial_options(options, address)


async def pictures_of(data, camera):
    """The ids of everything that a camera has taken, in pages."""
    ids, last = [], None
    while True:
        page, _, last = await data.binary_data_by_filter(
            Filter(component_name=camera), limit=50, last=last, include_binary_data=False
        )
        if not page:
            return ids
        ids += [picture.metadata.binary_data_id for picture in page]


async def main(address):
    cloud = await connect(address)
    try:
        data = cloud.data_client
        (organization, *_) = await cloud.app_client.list_organizations()
        dataset = await data.create_dataset("shapes", organization.id)
        for shape in SHAPES:
            pictures = await pictures_of(data, camera=shape)
            # Here each camera sees one thing only; otherwise somebody looks at each picture.
            await data.add_tags_to_binary_data_by_ids([shape], pictures)
            await data.add_binary_data_to_dataset_by_ids(pictures, dataset)
            print(f"{shape}: {len(pictures)} pictures")
    finally:
        cloud.close()


asyncio.run(main(*sys.argv[1:]))
