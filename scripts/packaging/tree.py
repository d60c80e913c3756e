"""The files that every kind of package has, by their place below /usr."""
import dataclasses
import gzip
import platform

import binaries
import product

COMPLETIONS = {"bash": "share/bash-completion/completions/launch", "zsh": "share/zsh/site-functions/_launch",
               "fish": "share/fish/vendor_completions.d/launch.fish"}
CONTROL = "launch-ctl"  # the program's other name (docs/control.md)
CONTROL_COMPLETIONS = {"bash": f"share/bash-completion/completions/{CONTROL}",
                       "zsh": f"share/zsh/site-functions/_{CONTROL}",
                       "fish": f"share/fish/vendor_completions.d/{CONTROL}.fish"}
LINKS = {"share/bash-completion/completions/launchrun": "launch",  # which are looked for by the command's name
         "share/fish/vendor_completions.d/launchrun.fish": "launch.fish"}
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


_printed = {}  # shell -> completion; a program for another machine says the same as one that runs here


def check(targets):
    """Before anything is built: one of them must run here."""
    if all(target.machine != platform.machine() for target in targets):
        raise product.Failure(f"no program for {targets[0].machine} runs on this machine, so none can print the "
                              f"completions: name a target for {platform.machine()}, too")


def _completions(own):
    for shell in COMPLETIONS:
        if shell not in _printed:
            _printed[shell] = binaries.says(own, "--print-completion", shell)
        if not _printed[shell]:
            raise product.Failure(f"{own} does not print its completion for {shell}")
    links = {place: File(b"", link=link) for place, link in LINKS.items()}
    return {place: File(_printed[shell]) for shell, place in COMPLETIONS.items()} | links


def _control(own):
    """launch-ctl: a link to the program, its manual and completions."""
    control = own.with_name(CONTROL)
    control.unlink(missing_ok=True)
    control.symlink_to(own.name)
    manual = (product.ROOT / f"docs/{CONTROL}.1").read_bytes()
    found = {f"bin/{CONTROL}": File(b"", link=product.NAME), f"share/man/man1/{CONTROL}.1.gz": File(packed(manual))}
    for shell, place in CONTROL_COMPLETIONS.items():
        if (CONTROL, shell) not in _printed:
            _printed[CONTROL, shell] = binaries.says(control, "--print-completion", shell)
        found[place] = File(_printed[CONTROL, shell])
    return found


def files(target, data, licences):
    """Place below /usr -> File, in order."""
    own = product.write(product.WORK / f"launch-{target.name}", data, 0o755)
    manual = (product.ROOT / "docs/launch.1").read_bytes()
    found = {f"bin/{product.NAME}": File(data, 0o755), "bin/launch": File(b"", link=product.NAME),
             "share/man/man1/launch.1.gz": File(packed(manual)),
             f"share/man/man1/{product.NAME}.1.gz": File(b"", link="launch.1.gz"), **_completions(own),
             **_control(own)}
    home = f"share/doc/{product.NAME}"
    for name in DOCUMENTS:
        found[f"{home}/{'copyright' if name == 'LICENSE' else name}"] = File((product.ROOT / name).read_bytes())
    for path in sorted((product.ROOT / "docs").glob("*.md")):
        found[f"{home}/docs/{path.name}"] = File(path.read_bytes())
    found[f"{home}/THIRD_PARTY_LICENSES"] = File(licences)
    return dict(sorted(found.items()))
