"""What calls of the published SDK's DataClient do that the tour of a user's program does not make."""

import os
import tempfile
from datetime import datetime, timezone

from viam.proto.app.data import Filter, IndexableCollection, TagsFilter

from sdk_calls import equal, refused

NOON = datetime(2026, 3, 4, 12, tzinfo=timezone.utc)


async def picture(data, part, name, **more):
    return await data.binary_data_capture_upload(
        binary_data=f"picture {name}".encode(),
        part_id=part,
        component_type="rdk:component:camera",
        component_name="eye",
        method_name="GetImages",
        file_extension="png",
        data_request_times=(NOON, NOON),
        **more,
    )


async def about(data, id):
    [found] = await data.binary_data_by_ids([id], include_binary_data=False)
    equal(found.binary, b"")
    return found.metadata


async def tags(data, organization, part):
    one, two = await picture(data, part, "one"), await picture(data, part, "two", tags=["old"])
    old = Filter(tags_filter=TagsFilter(tags=["old"]))
    await data.add_tags_to_binary_data_by_ids(["new", "both"], [one])
    await data.add_tags_to_binary_data_by_filter(["both"], old)
    equal(sorted((await about(data, one)).capture_metadata.tags), ["both", "new"])
    equal(sorted((await about(data, two)).capture_metadata.tags), ["both", "old"])
    equal(await data.tags_by_filter(old), ["both", "old"])
    equal(await data.remove_tags_from_binary_data_by_ids(["new", "both", "none"], [one]), 2)
    equal(await data.remove_tags_from_binary_data_by_filter(["both"], old), 1)
    equal(list((await about(data, one)).capture_metadata.tags), [])
    equal(list((await about(data, two)).capture_metadata.tags), ["old"])
    for call in (
        data.add_tags_to_binary_data_by_ids([], [one]),
        data.add_tags_to_binary_data_by_filter([], old),
        data.remove_tags_from_binary_data_by_ids([], [one]),
        data.remove_tags_from_binary_data_by_filter([], old),
    ):
        await refused(call, "INVALID_ARGUMENT", "tags")
    for call in (
        data.add_tags_to_binary_data_by_ids(["x"], []),
        data.remove_tags_from_binary_data_by_ids(["x"], []),
        data.binary_data_by_ids([]),
        data.delete_binary_data_by_ids([]),
    ):
        await refused(call, "INVALID_ARGUMENT", "binary_data_ids")
    equal(await data.delete_binary_data_by_ids([one, two]), 2)
    await refused(data.binary_data_by_ids([one]), "NOT_FOUND", "no binary data")


async def boxes(data, organization, part):
    image = await picture(data, part, "boxes")
    box = await data.add_bounding_box_to_image_by_id(image, "cat", 0.1, 0.2, 0.3, 0.4, 0.5)
    await data.update_bounding_box(image, box, "dog", 0.2, 0.3, 0.4, 0.5, 0.6)
    [found] = (await about(data, image)).annotations.bboxes
    sides = [found.x_min_normalized, found.y_min_normalized, found.x_max_normalized, found.y_max_normalized]
    equal([found.id, found.label, *sides, found.confidence], [box, "dog", 0.2, 0.3, 0.4, 0.5, 0.6])
    equal(await data.bounding_box_labels_by_filter(Filter(component_name="eye")), ["dog"])
    wide = data.add_bounding_box_to_image_by_id(image, "cat", 0.1, 0.2, 1.3, 0.4)
    await refused(wide, "INVALID_ARGUMENT", "x_max_normalized")
    wide = data.update_bounding_box(image, box, "cat", -0.1, 0.2, 0.3, 0.4)
    await refused(wide, "INVALID_ARGUMENT", "x_min_normalized")
    await data.remove_bounding_box_from_image_by_id(box, image)
    equal(await data.bounding_box_labels_by_filter(), [])
    await data.delete_binary_data_by_ids([image])


async def datasets(data, organization, part):
    one = await data.create_dataset("one", organization)
    two = await data.create_dataset("two", organization)
    images = [await picture(data, part, f"of {id}", dataset_ids=[id]) for id in (one, two)]
    merged = await data.merge_datasets("both", organization, [one, two])
    await data.rename_dataset(two, "second")
    found = await data.list_dataset_by_ids([two, merged])
    equal({each.name for each in found}, {"second", "both"})

    async def within(dataset):
        members, _, _ = await data.binary_data_by_filter(Filter(dataset_id=dataset))
        return {each.metadata.binary_data_id for each in members}

    equal([await within(one), await within(merged)], [{images[0]}, set(images)])
    await data.add_binary_data_to_dataset_by_ids([images[1]], one)
    equal(await within(one), set(images))
    await data.remove_binary_data_from_dataset_by_ids([images[0]], merged)
    equal([await within(merged), await within(one)], [{images[1]}, set(images)])
    for dataset in (one, two, merged):
        await data.delete_dataset(dataset)
    equal(list(await data.list_dataset_by_ids([one, two, merged])), [])
    equal(len(await data.binary_data_by_ids(images)), 2)
    await data.delete_binary_data_by_ids(images)


async def files(data, organization, part):
    """What is written to a file where the caller names one."""
    image = await picture(data, part, "file")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "found")
        for call in (
            data.binary_data_by_ids([image], dest=path),
            data.binary_data_by_filter(Filter(component_name="eye"), dest=path),
        ):
            await call
            with open(path) as file:
                assert "picture file" in file.read()
    await data.delete_binary_data_by_ids([image])
    nothing = await data.get_latest_tabular_data(part, "none", "rdk:component:sensor", "Readings")
    equal(nothing, None)


async def absent(data, organization, part):
    connection = data.get_database_connection(organization)
    await refused(connection, "UNIMPLEMENTED", "TabularDataBySQL")
    user = data.configure_database_user(organization, "a password")
    await refused(user, "UNIMPLEMENTED", "TabularDataBySQL")
    where = IndexableCollection.INDEXABLE_COLLECTION_HOT_STORE
    made = data.create_index(organization, where, {"keys": {"x": 1}})
    await refused(made, "UNIMPLEMENTED", "this cloud has no indexes of one's own")
    await refused(data.delete_index(organization, where, "x"), "UNIMPLEMENTED", "no indexes")
    try:
        await data.delete_tabular_data_by_filter(Filter())
    except NotImplementedError:
        return  # The SDK itself has given it up.
    raise AssertionError("delete_tabular_data_by_filter does something")


CASES = (tags, boxes, datasets, files, absent)
