"""scripts/package: builds and packs launch. The order of the work; each part is a module beside this one."""
import argparse
import hashlib
import pathlib
import sys

import archives
import binaries
import bill
import product
import tree
import wheel


def _arguments():
    parser = argparse.ArgumentParser(prog="scripts/package", usage="scripts/package [--out FOLDER] [--binary FILE] "
                                                                   "[TARGET...]", add_help=False)
    parser.add_argument("--out", type=pathlib.Path, default=product.ROOT / "dist")
    parser.add_argument("--binary", type=pathlib.Path)
    parser.add_argument("--tools", nargs="+", choices=product.TOOLS)  # only installs these
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    arguments = parser.parse_args()
    unknown = set(arguments.targets) - set(product.TARGETS)
    if unknown:
        parser.error(f"unknown target {' '.join(sorted(unknown))}; known are {' '.join(product.TARGETS)}")
    if arguments.binary and len(arguments.targets) != 1:
        parser.error("--binary needs the one TARGET that it is")
    if arguments.binary and not arguments.binary.is_file():
        parser.error(f"--binary: there is no file {arguments.binary}")
    return arguments


def _pack(target, binary, out, licences):
    """Everything that is made of one program."""
    program = tree.program(binary)
    made = [product.write(out / f"launch-{product.VERSION}-linux-{target.name}", program, 0o755)]
    files = tree.files(target, program, licences)
    made.append(archives.tarball(target, files, out))
    made.append(wheel.make(target, files, out))
    made += archives.packages(target, files, out)
    return made


def _forget_other_versions(out):
    """So that a pattern as in README has one answer."""
    for path in out.glob("launch*-*"):
        if path.is_file() and f"-{product.VERSION}" not in path.name:
            path.unlink()


def _sums(out):
    """Of all that lies there, also from earlier calls for other targets."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
             for path in sorted(out.iterdir()) if path.is_file() and path.name != "SHA256SUMS"]
    return product.write(out / "SHA256SUMS", "".join(lines).encode())


def main():
    arguments = _arguments()
    if arguments.tools:
        for name in arguments.tools:
            product.tool(product.TOOLS[name])
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    out = arguments.out.resolve()
    targets = [one for one in product.TARGETS.values() if one.name in (arguments.targets or product.TARGETS)]
    if not arguments.binary:
        tree.check(targets)
    _forget_other_versions(out)
    by_zig = not arguments.binary
    licences = bill.licences(by_zig)
    for target in targets:
        print(f"== {target.name}", flush=True)
        binary = arguments.binary or binaries.build(target)
        for path in _pack(target, binary, out, licences):
            print(f"   {path.name}: {path.stat().st_size / 2**20:.2f} MiB", flush=True)
    for path in (*bill.write(out, by_zig), _sums(out)):
        print(f"   {path.name}")
    print(f"== done: {out}")


if __name__ == "__main__":
    try:
        main()
    except (product.Failure, OSError) as failure:
        sys.exit(f"package: {failure}")
