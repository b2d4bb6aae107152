"""Generates and compiles C++ from .proto files with Debian's protoc."""

def seraph_proto_library(name, srcs, deps = [], services = False, visibility = None):
    """A C++ library of the messages, and of the gRPC stubs where asked.

    Args:
      name: the library.
      srcs: .proto files of this package.
      deps: other seraph_proto_library targets that srcs import.
      services: also generate the gRPC stubs and link gRPC.
      visibility: as usual.
    """
    outs_h = [s.replace(".proto", ".pb.h") for s in srcs]
    outs_cc = [s.replace(".proto", ".pb.cc") for s in srcs]
    flags = "--cpp_out=$(GENDIR)"
    if services:
        outs_h += [s.replace(".proto", ".grpc.pb.h") for s in srcs]
        outs_cc += [s.replace(".proto", ".grpc.pb.cc") for s in srcs]
        flags += " --grpc_out=$(GENDIR) --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin"
    native.filegroup(
        name = name + "_files",
        srcs = srcs + [d + "_files" for d in deps],
        visibility = visibility,
    )
    native.genrule(
        name = name + "_gen",
        srcs = [":" + name + "_files"],
        outs = outs_h + outs_cc,
        cmd = "/usr/bin/protoc -I. " + flags + " " + " ".join([native.package_name() + "/" + s for s in srcs]),
    )
    native.cc_library(
        name = name,
        srcs = outs_cc,
        hdrs = outs_h,
        deps = deps + ["//third_party:protobuf"] + (["//third_party:grpc"] if services else []),
        visibility = visibility,
    )
