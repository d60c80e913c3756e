"""A wheel: the program, man page and completions as data files, and a module, so that `python -m launchrun` works."""
import base64
import hashlib
import io
import time
import zipfile

import product

def _metadata():
    readme = (product.ROOT / "README.md").read_text(encoding="utf-8")
    fields = {"Metadata-Version": "2.1", "Name": product.NAME, "Version": product.VERSION, "Summary": product.SUMMARY,
              "License": "MIT", "Requires-Python": ">=3.8", "Classifier": "Operating System :: POSIX :: Linux",
              "Description-Content-Type": "text/markdown"}
    return "".join(f"{name}: {value}\n" for name, value in fields.items()) + "\n" + readme


def _tag_lines(target):
    return "".join(f"Tag: py3-none-{platform}\n" for platform in target.wheel.split("."))


def _contents(target, files):
    info, data = f"{product.NAME}-{product.VERSION}.dist-info", f"{product.NAME}-{product.VERSION}.data"
    module = product.ROOT / "scripts/packaging/module"
    found = {f"{product.NAME}/{path.name}": (path.read_bytes(), 0o644) for path in sorted(module.glob("*.py"))}
    # A wheel has no links, and another package may put its own `launch` there, so each name has the program.
    for name in ("launch", product.NAME, "launch-ctl"):
        found[f"{data}/scripts/{name}"] = (files[f"bin/{product.NAME}"].data, 0o755)
    for place, file in files.items():
        if place.startswith(("share/man/", "share/bash-", "share/zsh/", "share/fish/")):
            real = files[f"{place.rpartition('/')[0]}/{file.link}"] if file.link else file
            found[f"{data}/data/{place}"] = (real.data, real.mode)
    found[f"{info}/METADATA"] = (_metadata().encode(), 0o644)
    found[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: {product.NAME} {product.VERSION}\n"
                              f"Root-Is-Purelib: false\n{_tag_lines(target)}".encode(), 0o644)
    third = f"share/doc/{product.NAME}/THIRD_PARTY_LICENSES"
    found[f"{info}/licenses/THIRD_PARTY_LICENSES"] = (files[third].data, 0o644)
    found[f"{info}/licenses/LICENSE"] = ((product.ROOT / "LICENSE").read_bytes(), 0o644)
    lines = [f"{name},sha256={_digest(text)},{len(text)}\n" for name, (text, _) in found.items()]
    found[f"{info}/RECORD"] = ("".join(lines + [f"{info}/RECORD,,\n"]).encode(), 0o644)
    return found


def _digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def make(target, files, out):
    buffer = io.BytesIO()
    when = time.gmtime(max(product.epoch(), 315532800))[:6]  # the format begins with 1980
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (data, mode) in _contents(target, files).items():
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return product.write(out / f"{product.NAME}-{product.VERSION}-py3-none-{target.wheel}.whl", buffer.getvalue())
