"""The API acme:component:gauge for the Python SDK; gauge.ts of the folder above has it as text.

What protoc would write into files of its own is made here from the description of the file.
"""

import abc

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpclib.client import UnaryUnaryMethod
from grpclib.const import Cardinality, Handler
from viam.components.component_base import ComponentBase
from viam.proto.common import DoCommandRequest, DoCommandResponse
from viam.resource.registry import Registry, ResourceRegistration
from viam.resource.rpc_client_base import ResourceRPCClientBase
from viam.resource.rpc_service_base import ResourceRPCServiceBase
from viam.resource.types import API, RESOURCE_TYPE_COMPONENT
from viam.utils import dict_to_struct, struct_to_dict

PACKAGE = "acme.component.gauge.v1"
SERVICE = f"{PACKAGE}.GaugeService"
FIELD = descriptor_pb2.FieldDescriptorProto


def _describe():
    file = descriptor_pb2.FileDescriptorProto(
        name="acme/component/gauge/v1/gauge.proto",
        package=PACKAGE,
        syntax="proto3",
        # The name under which the SDK has it is that of its source, and so is ours.
        dependency=[DoCommandRequest.DESCRIPTOR.file.name],
    )
    messages = {
        "ReadRequest": {"name": FIELD.TYPE_STRING, "unit": FIELD.TYPE_STRING},
        "ReadResponse": {"value": FIELD.TYPE_DOUBLE, "note": FIELD.TYPE_STRING},
        "WatchRequest": {"name": FIELD.TYPE_STRING, "count": FIELD.TYPE_UINT32},
    }
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields.items(), 1):
            message.field.add(name=field, number=number, type=kind, label=FIELD.LABEL_OPTIONAL)
    service = file.service.add(name="GaugeService")
    response = f".{PACKAGE}.ReadResponse"
    service.method.add(name="Read", input_type=f".{PACKAGE}.ReadRequest", output_type=response)
    service.method.add(
        name="Watch",
        input_type=f".{PACKAGE}.WatchRequest",
        output_type=response,
        server_streaming=True,
    )
    service.method.add(
        name="DoCommand",
        input_type=".viam.common.v1.DoCommandRequest",
        output_type=".viam.common.v1.DoCommandResponse",
    )
    pool = descriptor_pool.Default()
    described = pool.Add(file) or pool.FindFileByName(file.name)
    return {
        name: message_factory.GetMessageClass(described.message_types_by_name[name])
        for name in messages
    }


_MESSAGES = _describe()
ReadRequest = _MESSAGES["ReadRequest"]
ReadResponse = _MESSAGES["ReadResponse"]
WatchRequest = _MESSAGES["WatchRequest"]


class Gauge(ComponentBase):
    API = API("acme", RESOURCE_TYPE_COMPONENT, "gauge")

    @abc.abstractmethod
    async def read(self, unit: str) -> float: ...


class GaugeRPCService(ResourceRPCServiceBase):
    RESOURCE_TYPE = Gauge

    async def Read(self, stream):
        request = await stream.recv_message()
        value = await self.get_resource(request.name).read(request.unit)
        await stream.send_message(ReadResponse(value=value, note=request.unit))

    async def Watch(self, stream):
        request = await stream.recv_message()
        self.get_resource(request.name)
        for value in range(1, request.count + 1):
            await stream.send_message(ReadResponse(value=value))

    async def DoCommand(self, stream):
        request = await stream.recv_message()
        result = await self.get_resource(request.name).do_command(struct_to_dict(request.command))
        await stream.send_message(DoCommandResponse(result=dict_to_struct(result)))

    def __mapping__(self):
        return {
            f"/{SERVICE}/Read": Handler(
                self.Read, Cardinality.UNARY_UNARY, ReadRequest, ReadResponse
            ),
            f"/{SERVICE}/Watch": Handler(
                self.Watch, Cardinality.UNARY_STREAM, WatchRequest, ReadResponse
            ),
            f"/{SERVICE}/DoCommand": Handler(
                self.DoCommand, Cardinality.UNARY_UNARY, DoCommandRequest, DoCommandResponse
            ),
        }


class GaugeClient(Gauge, ResourceRPCClientBase):
    def __init__(self, name, channel):
        self.channel = channel
        super().__init__(name)

    async def read(self, unit):
        method = UnaryUnaryMethod(self.channel, f"/{SERVICE}/Read", ReadRequest, ReadResponse)
        return (await method(ReadRequest(name=self.name, unit=unit))).value


Registry.register_api(ResourceRegistration(Gauge, GaugeRPCService, GaugeClient))
