// Asks a daemon how it is, as a kubelet does: grpc.health.v1.Health/Check.
//
//   health_probe HOST:PORT SERVICE     exit 0: serving; 1: not, or no answer
//
// The messages are the health protocol's by their wire format alone (one text
// in field 1, one number in field 1), so that the probe shares no code with
// what it checks.
#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "google/protobuf/wrappers.pb.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/proto_buffer_reader.h"

namespace {

constexpr int kServing = 1;

int Probe(const std::string& address, const std::string& service) {
  google::protobuf::StringValue request;
  request.set_value(service);
  grpc::Slice slice(request.SerializeAsString());
  grpc::ByteBuffer message(&slice, 1);

  grpc::GenericStub stub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(2));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(
      &context, "/grpc.health.v1.Health/Check", message, &queue);
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->StartCall();
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);

  if (!status.ok()) {
    std::cout << "code " << status.error_code() << ": "
              << status.error_message() << "\n";
    return 1;
  }
  grpc::ProtoBufferReader reader(&answer);
  google::protobuf::Int32Value reply;
  if (!reply.ParseFromZeroCopyStream(&reader)) {
    std::cout << "not a health answer\n";
    return 1;
  }
  std::cout << "status " << reply.value() << "\n";
  return reply.value() == kServing ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: health_probe HOST:PORT SERVICE\n";
    return 2;
  }
  return Probe(argv[1], argv[2]);
}
