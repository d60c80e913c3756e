"""Builds the program for a target with zig's clang, on any machine that zig runs on."""
import os
import shlex
import subprocess

import product

# What is small starts sooner: most of the time until a job's workers are there goes to loading the program. zig takes
# -Oz for -Os, unless clang is told behind its back.
SMALL = "-Os -Xclang -Oz -Xclang -fmerge-functions"
# Of Debian's packages; nothing else of /usr/include may be seen.
HEADERS = ("boost", "fmt", "spdlog", "CLI", "nlohmann")


def _headers():
    folder = product.WORK / "include"
    folder.mkdir(parents=True, exist_ok=True)
    for name in HEADERS:
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(f"/usr/include/{name}")
    return folder


def _wrapper(folder, name, command):
    """CMake wants a compiler to be one word."""
    path = folder / name
    product.write(path, f'#!/bin/sh\nexec {command} "$@"\n'.encode(), 0o755)
    return path


def _tools(target):
    folder = product.WORK / f"tools-{target.name}"
    zig = shlex.quote(str(product.zig_folder() / "zig"))
    compile_for = f"-target {target.triple} {target.flags}"
    return {"CMAKE_C_COMPILER": _wrapper(folder, "cc", f"{zig} cc {compile_for}"),
            "CMAKE_CXX_COMPILER": _wrapper(folder, "c++", f"{zig} c++ {compile_for}"),
            "CMAKE_AR": _wrapper(folder, "ar", f"{zig} ar"),
            "CMAKE_RANLIB": _wrapper(folder, "ranlib", f"{zig} ranlib")}


def build(target, tests=()):
    """The path of the program, stripped; or of the folder that has these test programs, too."""
    folder = product.WORK / (target.name + "-tests" * bool(tests))
    source = product.ROOT
    settings = {
        "CMAKE_BUILD_TYPE": "Release", "CMAKE_SYSTEM_NAME": "Linux", "CMAKE_SYSTEM_PROCESSOR": target.machine,
        # Paths of this machine must not get into the program.
        "CMAKE_CXX_FLAGS": f'"-ffile-prefix-map={source}=." "-ffile-prefix-map={_headers()}=."',
        "CMAKE_CXX_FLAGS_RELEASE": SMALL + " -flto" * (not tests) + " -DNDEBUG",
        "CMAKE_EXE_LINKER_FLAGS": f"-s {target.link}",
        "CMAKE_UNITY_BUILD": "ON", "CMAKE_UNITY_BUILD_BATCH_SIZE": "17", "CMAKE_DISABLE_PRECOMPILE_HEADERS": "ON",
        "LAUNCH_TESTS": "ON" if tests else "OFF", "LAUNCH_HEADERS": _headers(), "LAUNCH_BUILT_FOR": target.triple,
        "LAUNCH_COMMIT": product.COMMIT,
        "CMAKE_PROJECT_TOP_LEVEL_INCLUDES": source / "scripts/packaging/headers.cmake", **_tools(target)}
    env = dict(os.environ, ZIG_GLOBAL_CACHE_DIR=str(product.WORK / "zig-cache"),
               ZIG_LOCAL_CACHE_DIR=str(product.WORK / "zig-cache"), SOURCE_DATE_EPOCH=str(product.epoch()))
    configure = ["cmake", "-S", source, "-B", folder, "-G", "Ninja"] + [f"-D{k}={v}" for k, v in settings.items()]
    product.run(configure, product.WORK / f"{target.name}-cmake.log", env=env)
    log = product.WORK / f"{target.name}-build.log"
    print(f"   compiling, which takes some minutes: {log}", flush=True)
    product.run(["ninja", "-C", folder, "launch", *tests], log, env=env)
    return folder if tests else folder / "launch"


def says(binary, *words):
    """What the program prints, if it runs on this machine; else nothing."""
    try:
        return subprocess.run([binary, *words], capture_output=True, check=False).stdout
    except OSError:
        return b""
