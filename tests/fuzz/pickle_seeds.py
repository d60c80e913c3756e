"""Writes rendezvous states as torchrun pickles them, in every protocol, one a file: seeds for rendezvous_pickle_fuzz.

Usage: PYTHON_WITH_TORCH pickle_seeds.py FOLDER
"""
import base64
import datetime
import pathlib
import pickle
import sys

from torch.distributed.elastic.rendezvous.dynamic_rendezvous import _NodeDesc, _RendezvousState


def states():
    now = datetime.datetime(2026, 11, 22, 3, 4, 5, 678901, tzinfo=datetime.timezone.utc)
    yield _RendezvousState()
    nodes = [_NodeDesc(f"host{number}", 1000 + number, number) for number in range(5)]
    forming = _RendezvousState()
    forming.participants = {node: 0 for node in nodes[:2]}
    forming.deadline = now
    forming.last_heartbeats = {node: now for node in nodes[:2]}
    yield forming
    complete = _RendezvousState()
    complete.round, complete.complete, complete.closed = 300, True, True
    complete.participants = {node: rank for rank, node in enumerate(nodes[:3])}
    complete.wait_list, complete.redundancy_list = {nodes[3]}, {nodes[4]}
    complete.last_heartbeats = {node: now for node in nodes}
    yield complete


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for number, state in enumerate(states()):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            data = pickle.dumps(state, protocol)
            (folder / f"{number}.{protocol}.pickle").write_bytes(data)
            (folder / f"{number}.{protocol}.base64").write_bytes(base64.b64encode(data))


main(pathlib.Path(sys.argv[1]))
