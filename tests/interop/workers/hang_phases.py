"""What real jobs do between two steps, for so many seconds: usage hang_phases.py PHASE SECONDS.

Rank 0 does it, the others wait for it as they would in a job: in a barrier of gloo if PyTorch is wanted, else at a
pipe. A phase without a sign of work for SECONDS would be taken for a hang.
"""
import ctypes
import http.server
import importlib
import mmap
import multiprocessing
import os
import pathlib
import re
import select
import subprocess
import sys
import threading
import time
import urllib.request

PHASE, SECONDS = sys.argv[1], float(sys.argv[2])
FOLDER, RANK = pathlib.Path(os.environ["TEST_FOLDER"]), int(os.environ["RANK"])
NAME = f"{PHASE}.{RANK}"


def pause(seconds):
    select.select([], [], [], seconds)


def until_later():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        yield


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


# ---- without PyTorch

def imports():
    """From a file system that needs its time for each module."""
    modules = FOLDER / NAME
    modules.mkdir()
    sys.path.insert(0, str(modules))
    for number, _ in enumerate(until_later()):
        (modules / f"module{number}.py").write_text("value = [0]\n" * 50)
        importlib.invalidate_caches()
        importlib.import_module(f"module{number}")
        pause(0.1)


def slow_checkpoint():
    with open(FOLDER / NAME, "wb", buffering=0) as file:
        for _ in until_later():
            file.write(bytes(4096))
            pause(0.4)


def heartbeat():
    for _ in until_later():
        print("still waiting for the reward model", flush=True)
        pause(2)


def heartbeat_on_stderr():
    for _ in until_later():
        print("still waiting for the reward model", file=sys.stderr)
        pause(2)


class Trickle(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        for _ in until_later():
            self.wfile.write(bytes(3000))
            pause(0.3)

    def log_message(self, *_):
        """Output would be a sign of its own."""


def download():
    """The server is a process of another session, as if it were elsewhere."""
    port_file = FOLDER / (NAME + ".port")
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        server = http.server.HTTPServer(("127.0.0.1", 0), Trickle)
        port_file.with_suffix(".new").write_text(str(server.server_port))
        port_file.with_suffix(".new").rename(port_file)
        server.handle_request()
        os._exit(0)
    os.wait()
    while not port_file.exists():
        pause(0.05)
    with urllib.request.urlopen(f"http://127.0.0.1:{port_file.read_text()}/") as source:
        with open(FOLDER / NAME, "wb") as file:
            while piece := source.read1(16384):
                file.write(piece)


def tokenising():
    words = "the quick brown fox " * 200
    def tokenise():
        for _ in until_later():
            re.findall(r"\w+", words)
    threads = [threading.Thread(target=tokenise) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def shell_commands():
    for _ in until_later():
        subprocess.run(["sleep", "1"], check=True)


def busy_child():
    subprocess.run([sys.executable, "-c", f"import time\nend = time.monotonic() + {SECONDS}\n"
                    "while time.monotonic() < end: pass"], check=True)


def fresh_memory():
    """As a cache of data that fills up."""
    kept = []
    for _ in until_later():
        kept.append(bytearray(b"x" * 500_000))
        pause(1)


def mapped_file():
    """Read where it is needed, page by page."""
    path = FOLDER / NAME
    with open(path, "wb") as file:
        file.write(os.urandom(64 << 20))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        data.madvise(mmap.MADV_RANDOM)
        for number, _ in enumerate(until_later()):
            for page in range(number * 20, number * 20 + 20):
                data[page * 4096]
            pause(0.2)


def stopped():
    """By a shell, or whoever looks at it."""
    if os.fork() == 0:
        pause(SECONDS)
        os.kill(os.getppid(), 18)
        os._exit(0)
    os.kill(os.getpid(), 19)
    os.wait()


def debugged():
    """A debugger has stopped it. What stops it must be a parent here, or be root; it is told when to let go."""
    worker, libc = os.getpid(), ctypes.CDLL(None, use_errno=True)
    libc.prctl(0x59616D61, ctypes.c_ulong(-1 & (1 << 64) - 1), 0, 0, 0)  # PR_SET_PTRACER_ANY
    attach, detach = 16, 17
    if os.fork() == 0:
        if libc.ptrace(attach, worker, None, None) == 0:
            os.waitpid(worker, 0)
            pause(SECONDS)
            libc.ptrace(detach, worker, None, None)
        os._exit(0)
    os.wait()


def one_call():
    """The interpreter stands at one line, and holds its lock."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        sorted(range(3_000_000), key=lambda number: number * 7919 % 1_000_003)


def many_children():
    """A loader of data that starts its workers anew: each imports what it needs."""
    context = multiprocessing.get_context("spawn")
    for _ in until_later():
        with context.Pool(4) as pool:
            pool.map(abs, range(4))


# ---- with PyTorch

def imports_torch():
    """Again and again: once takes a second here, and minutes on a file system that a thousand nodes share."""
    for _ in until_later():
        subprocess.run([sys.executable, "-c", "import torch.utils.data"], check=True)


def evaluation():
    import torch
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(8)])
    batch = FOLDER / (NAME + ".batch")
    torch.save(torch.randn(64, 256), batch)
    with torch.no_grad():
        for _ in until_later():
            model(torch.load(batch))


def torch_checkpoint():
    """To a file that takes 40 KiB a second."""
    import torch

    class Slow:
        def __init__(self, file):
            self.file = file

        def write(self, data):
            data = bytes(data)
            for start in range(0, len(data), 8192):
                self.file.write(data[start:start + 8192])
                pause(0.2 * len(data[start:start + 8192]) / 8192)
            return len(data)

        def flush(self):
            self.file.flush()

    with open(FOLDER / NAME, "wb", buffering=0) as file:
        torch.save({"weight": torch.randn(int(SECONDS * 40960 / 4))}, Slow(file))


def compilation():
    """The first step of a compiled model: a compiler of C++ runs below."""
    import torch
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(FOLDER / NAME)
    for number, _ in enumerate(until_later()):
        torch._dynamo.reset()
        model = torch.compile(lambda x, n=number: torch.sin(x * (n + 1)) + x.sum() * n)
        model(torch.randn(100 + number))


class Slow:
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        return index


def loader():
    import torch
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for _ in torch.utils.data.DataLoader(Slow(), batch_size=100, num_workers=6,
                                             multiprocessing_context="spawn"):
            pass


def waits_in_torch(spins):
    """A barrier before and after; whoever waits sleeps, or spins as NCCL does."""
    import torch.distributed as dist
    dist.init_process_group("gloo")
    dist.barrier()
    if RANK == 0:
        globals()[PHASE.removesuffix("_spin")]()
    work = dist.barrier(async_op=True)
    while spins and not work.is_completed():
        pass
    work.wait()
    dist.barrier()
    dist.destroy_process_group()


WITH_TORCH = ("imports_torch", "evaluation", "torch_checkpoint", "compilation", "loader", "hang")


def hang():
    """That a hang is found at all."""
    pause(SECONDS)


def waits_at_a_file():
    """Whoever waits does nothing at all but look now and then."""
    if RANK == 0:
        globals()[PHASE]()
        (FOLDER / (PHASE + ".done")).touch()
    while not (FOLDER / (PHASE + ".done")).exists():
        pause(0.5)


def main():
    if os.environ.get("ACCELERATOR"):
        globals()["held"] = open(os.environ["ACCELERATOR"], "rb")
    if PHASE.removesuffix("_spin") in WITH_TORCH:
        waits_in_torch(PHASE.endswith("_spin"))
    else:
        waits_at_a_file()


if __name__ == "__main__":
    main()
