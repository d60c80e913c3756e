"""The files that every kind of package has, by their place below /usr."""
import dataclasses
import gzip

import binaries
import product

COMPLETIONS = {"bash": "share/bash-completion/completions/launch", "zsh": "share/zsh/vendor-completions/_launch",
               "fish": "share/fish/vendor_completions.d/launch.fish"}
DOCUMENTS = ("README.md", "LICENSE")


@dataclasses.dataclass(frozen=True)
class File:
    data: bytes
    mode: int = 0o644
    link: str = ""  # a symbolic link to this file beside it


def program(binary):
    return binary.read_bytes()


def packed(text):
    return gzip.compress(text, compresslevel=9, mtime=0)


def _completions(target, own):
    """The program prints them. One for another machine says the same as one that was packed before."""
    kept = product.WORK / "completions"
    for shell in COMPLETIONS:
        text = binaries.says(own, "--print-completion", shell)
        if text:
            product.write(kept / shell, text)
        elif not (kept / shell).exists():
            raise product.Failure(f"{target.name} does not run on this machine: pack a target that does before it, "
                                  "which prints the completions")
    return {place: File((kept / shell).read_bytes()) for shell, place in COMPLETIONS.items()}


def files(target, data):
    """Place below /usr -> File, in order."""
    own = product.write(product.WORK / f"launch-{target.name}", data, 0o755)
    manual = (product.ROOT / "docs/launch.1").read_bytes()
    found = {"bin/launch": File(data, 0o755), f"bin/{product.NAME}": File(b"", link="launch"),
             "share/man/man1/launch.1.gz": File(packed(manual)),
             f"share/man/man1/{product.NAME}.1.gz": File(b"", link="launch.1.gz"), **_completions(target, own)}
    home = f"share/doc/{product.NAME}"
    for name in DOCUMENTS:
        found[f"{home}/{'copyright' if name == 'LICENSE' else name}"] = File((product.ROOT / name).read_bytes())
    for path in sorted((product.ROOT / "docs").glob("*.md")):
        found[f"{home}/docs/{path.name}"] = File(path.read_bytes())
    found[f"{home}/changelog.gz"] = File(packed((product.ROOT / "docs/changelog.md").read_bytes()))
    return dict(sorted(found.items()))
