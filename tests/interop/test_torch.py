"""Real PyTorch workers under launch: both dialects of the store's protocol, four shapes of the job."""
from harness import long, repeated
from torch_job import WORKERS, TorchCase

SHAPES = {"1x4": [4], "2x2": [2, 2], "4x1": [1, 1, 1, 1], "3+1": [3, 1]}
# Each kind of job with each version, each version in at least two shapes, and each shape.
QUICK = {("collectives", "2.13", "1x4"), ("collectives", "2.13", "3+1"), ("training", "2.13", "2x2"),
         ("collectives", "1.13", "4x1"), ("training", "1.13", "3+1")}
COVERED = "QUICK in test_torch.py: each kind of job with each version, and each shape"


class Torch(TorchCase):
    load = 1.6

    def collectives(self, version, shape):
        sizes = SHAPES[shape]
        runs = self.job(sizes, WORKERS / "torch_collectives.py", python=self.python(version))
        self.expect_ranks(sizes, runs)

    def training(self, version, shape):
        sizes = SHAPES[shape]
        checkpoint = self.folder / "model.pt"
        checkpoint.unlink(missing_ok=True)
        runs = self.job(sizes, WORKERS / "ddp_train.py", checkpoint, python=self.python(version))
        self.expect_ranks(sizes, runs)
        self.assertTrue(checkpoint.exists())


def add_tests():
    """One test a combination, so that each can be run and repeated alone."""
    for kind in (Torch.collectives, Torch.training):
        for version in ("2.13", "1.13"):
            for shape in SHAPES:
                def body(self, kind=kind, version=version, shape=shape):
                    kind(self, version, shape)
                body.__name__ = f"test_{kind.__name__}_of_torch_{version}_in_{shape}".replace(".", "_")
                test = repeated(body)
                if (kind.__name__, version, shape) not in QUICK:
                    test = long(COVERED)(test)
                setattr(Torch, body.__name__, test)


add_tests()
