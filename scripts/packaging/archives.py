"""The tarball, and by nfpm the packages of Debian, of RPM systems and of Alpine. All have the same tree."""
import email.utils
import io
import json
import os
import subprocess
import tarfile
import time

import product
import tree

MAINTAINER = "the launch authors <launch@invalid>"
LEVEL = os.environ.get("LAUNCH_ZSTD_LEVEL", "-19")  # of zstd; the tests take a faster one
LINTIAN = f"""# The authors have no address that takes mail for this package.
{product.NAME}: bogus-mail-host *
{product.NAME}: bogus-mail-host-in-debian-changelog *
# As python3: it starts sooner if its addresses are fixed.
{product.NAME}: hardening-no-pie *
"""


def _entry(name, file):
    entry = tarfile.TarInfo(name)
    entry.mtime = product.epoch()
    entry.uname = entry.gname = "root"
    if file.link:
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, file.link, 0o777
    else:
        entry.size, entry.mode = len(file.data), file.mode
    return entry


def tarball(target, files, out):
    top = f"launch-{product.VERSION}-linux-{target.name}"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for place, file in files.items():
            archive.addfile(_entry(f"{top}/{place}", file), io.BytesIO(file.data))
    packed = subprocess.run(["zstd", "-q", LEVEL, "--no-check", "-c"], input=buffer.getvalue(), capture_output=True,
                            check=True).stdout
    return product.write(out / f"{top}.tar.zst", packed)


def _staged(target, files):
    """The tree on disk, as nfpm wants it, and its list of contents."""
    folder = product.WORK / f"tree-{target.name}"
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(product.epoch()))
    contents = []
    for place, file in files.items():
        if file.link:
            contents.append({"src": file.link, "dst": f"/usr/{place}", "type": "symlink",
                             "file_info": {"mtime": when}})
            continue
        path = folder / place
        product.write(path, file.data, file.mode)
        contents.append({"src": str(path), "dst": f"/usr/{place}",
                         "file_info": {"mode": file.mode, "mtime": when, "owner": "root", "group": "root"}})
    return contents, when


def _of_debian(files):
    """The tree with what only Debian wants, where Debian wants it."""
    found = {place.replace("/zsh/site-functions/", "/zsh/vendor-completions/"): file for place, file in files.items()}
    when = email.utils.formatdate(product.epoch())
    changelog = (f"{product.NAME} ({product.VERSION}) unstable; urgency=medium\n\n"
                 f"  * What is new is said in docs/changelog.md beside this file.\n\n -- {MAINTAINER}  {when}\n")
    found[f"share/doc/{product.NAME}/changelog.gz"] = tree.File(tree.packed(changelog.encode()))
    found[f"share/lintian/overrides/{product.NAME}"] = tree.File(LINTIAN.encode())
    return found


def packages(target, files, out):
    """One of each kind that the target has."""
    return [_package(target, kind, files, out) for kind in target.packages]


def _package(target, kind, files, out):
    contents, when = _staged(target, _of_debian(files) if kind == "deb" else files)
    config = {"name": product.NAME, "arch": target.debian, "platform": "linux", "version": product.VERSION,
              "version_schema": "semver", "maintainer": MAINTAINER, "section": "utils",
              "priority": "optional", "description": f"{product.SUMMARY}\n{product.DESCRIPTION}",
              "license": "MIT", "mtime": when,
              "contents": contents,
              "overrides": {"deb": {"depends": ["libc6 (>= 2.17)"]}, "rpm": {"depends": ["glibc >= 2.17"]}},
              "rpm": {"buildhost": "reproducible", "group": "Applications/System"}}
    path = product.WORK / f"nfpm-{target.name}.json"  # which is YAML, too
    product.write(path, json.dumps(config, indent=1).encode())
    env = dict(os.environ, SOURCE_DATE_EPOCH=str(product.epoch()))
    name = f"{product.NAME}-{product.VERSION}-{target.machine}.{kind}"
    product.run([product.tool(product.NFPM) / "bin" / "nfpm", "package", "--config", path, "--packager", kind,
                 "--target", out / name], env=env)
    return out / name
