"""What is compiled in, for those who must know: a bill of materials (SPDX 2.3) and the licences' texts."""
import json
import pathlib
import re
import subprocess
import time

import product

# Name, licence, and Debian's package whose headers are compiled in.
DEBIAN = (("Boost", "BSL-1.0", "libboost1.81-dev"), ("fmt", "MIT", "libfmt-dev"), ("spdlog", "MIT", "libspdlog-dev"),
          ("CLI11", "BSD-3-Clause", "libcli11-dev"), ("JSON for Modern C++", "MIT", "nlohmann-json3-dev"))
# Of Boost's libraries, those of which something is compiled in: Asio and what it uses.
BOOST = "align|asio|assert|beast|bind|config|core|date_time|intrusive|mp11|optional|predef|static_assert|system|" \
        "throw_exception|type_traits|utility|variant2|winapi"
# Name, version, licence, and the text in zig's package.
ZIG = (("libc++, libc++abi, libunwind and compiler-rt (LLVM)", "20.1.2", "Apache-2.0 WITH LLVM-exception",
        "lib/libunwind/LICENSE.TXT"), ("musl (static programs only)", "1.2.5", "MIT", "lib/libc/musl/COPYRIGHT"))


def _version_of(package):
    done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise product.Failure(f"the version of {package} is not known to dpkg")
    return done.stdout


def _text_of(package):
    """Debian's account of the copyright; of Boost's, which is 2 MB, the paragraphs that matter."""
    text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text(encoding="utf-8", errors="replace")
    if "boost" not in package:
        return text
    used = re.compile(rf"^\s+libs/({BOOST})/\*|\ALicense: BSL-1.0\n ", re.M)
    return "\n\n".join(part for part in re.split(r"\n\s*\n", text) if used.search(part))


def _materials(by_zig):
    """Name, version, licence, text."""
    for name, licence, package in DEBIAN:
        yield name, _version_of(package), licence, _text_of(package)
    for name, version, licence, path in ZIG if by_zig else ():
        yield name, version, licence, (product.zig_folder() / path).read_text(encoding="utf-8", errors="replace")


def _spdx(materials):
    def package(number, name, version, licence):
        return {"SPDXID": f"SPDXRef-{number}", "name": name, "versionInfo": version, "licenseConcluded": licence,
                "licenseDeclared": licence, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                "copyrightText": "NOASSERTION"}

    packages = [package(0, "launch", product.VERSION, "MIT")]
    packages += [package(number, *one[:3]) for number, one in enumerate(materials, 1)]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": "SPDXRef-0"}]
    relations += [{"spdxElementId": "SPDXRef-0", "relationshipType": "STATIC_LINK", "relatedSpdxElement": one["SPDXID"]}
                  for one in packages[1:]]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"launch-{product.VERSION}",
            "documentNamespace": f"urn:{product.NAME}:{product.VERSION}:{product.COMMIT}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(product.epoch())),
                             "creators": [f"Tool: scripts/package-{product.VERSION}"]},
            "packages": packages, "relationships": relations}


def licences(by_zig):
    """The texts, as one."""
    return "".join(f"{name} {version} ({licence})\n{'=' * 80}\n\n{text.strip()}\n\n\n"
                   for name, version, licence, text in _materials(by_zig)).encode()


def write(out, by_zig):
    bill = json.dumps(_spdx(list(_materials(by_zig))), indent=1).encode() + b"\n"
    return (product.write(out / f"launch-{product.VERSION}.spdx.json", bill),
            product.write(out / "THIRD_PARTY_LICENSES", licences(by_zig)))
