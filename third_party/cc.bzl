"""cc_library, cc_binary and cc_test with the project's compiler options."""

# Warnings are errors in our own code only; generated code and system headers
# are compiled without them.
_COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-parameter",
    "-Wno-sign-compare",
    "-Wno-missing-field-initializers",  # Designated initialisers say enough.
] + select({
    "@platforms//cpu:x86_64": ["-march=x86-64-v3"],
    "//conditions:default": [],
})

def cc_library(name, copts = [], **kwargs):
    native.cc_library(name = name, copts = _COPTS + copts, **kwargs)

def cc_binary(name, copts = [], **kwargs):
    native.cc_binary(name = name, copts = _COPTS + copts, **kwargs)

def cc_test(name, copts = [], deps = [], **kwargs):
    native.cc_test(
        name = name,
        copts = _COPTS + copts,
        deps = deps + ["//third_party:gtest_main"],
        **kwargs
    )
