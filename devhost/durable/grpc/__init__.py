"""The protocol of the Durable Functions SDK 2.x: messages of microsoft/durabletask-protobuf, and their gRPC service."""
