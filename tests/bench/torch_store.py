"""PyTorch's own store server (libuv) and nothing else: serves at the given port until standard input ends."""
import sys

from torch.distributed import TCPStore

store = TCPStore("127.0.0.1", int(sys.argv[1]), is_master=True, use_libuv=True, wait_for_workers=False)
print("ready", flush=True)
sys.stdin.read()
