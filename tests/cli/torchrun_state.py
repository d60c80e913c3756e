"""The state of a c10d job as torchrun's agents pickle it, read and written without PyTorch."""
import base64
import datetime
import pickle
import sys
import types

MODULE = "torch.distributed.elastic.rendezvous.dynamic_rendezvous"


class _NodeDesc:
    def __init__(self, addr, pid, local_id=0):
        self.addr, self.pid, self.local_id = addr, pid, local_id

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __hash__(self):
        return hash((self.addr, self.pid, self.local_id))


class _RendezvousState:
    """Its fields are those of torchrun: round, complete, deadline, participants, wait_list, last_heartbeats, ..."""


def _pose_as_torchrun():
    names = MODULE.split(".")
    for end in range(1, len(names) + 1):
        path = ".".join(names[:end])
        sys.modules[path] = types.ModuleType(path)
    for kind in (_NodeDesc, _RendezvousState):
        kind.__module__ = MODULE
        setattr(sys.modules[MODULE], kind.__name__, kind)


_pose_as_torchrun()


def node(addr, pid):
    return _NodeDesc(addr, pid)


def change(client, run_id, edit):
    """Reads the state, lets `edit` change it and writes it back; tells whether nobody else had written meanwhile."""
    key = f"/torch.rendezvous.{run_id}"
    before = client.get(key)
    if not before:
        return False
    state = pickle.loads(base64.b64decode(before))
    edit(state)
    after = base64.b64encode(pickle.dumps(state))
    return client.compare_set(key, before, after) != before


def keep_alive(state, *nodes):
    for each in nodes:
        state.last_heartbeats[each] = datetime.datetime.now(datetime.timezone.utc)
