"""A training with the real Lightning, on CPU, that says which launcher it took itself to be under."""
import argparse

import report
import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything


class Line(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.last = None

    def training_step(self, batch, _):
        inputs, wanted = batch
        loss = torch.nn.functional.mse_loss(self.layer(inputs), wanted)
        self.last = loss.detach()
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def train_dataloader(self):
        inputs = torch.linspace(-1, 1, 32).reshape(-1, 1)
        return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, 3 * inputs + 1), batch_size=4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", type=int, default=1)
    devices = parser.parse_args().devices
    seed_everything(0, verbose=False)
    trainer = Trainer(accelerator="cpu", devices=devices, strategy="ddp", max_epochs=1, logger=False,
                      enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    line = Line()
    trainer.fit(line)
    one = torch.tensor(trainer.global_rank + 1.0)
    environment = trainer.strategy.cluster_environment
    report.tell(sum=trainer.strategy.reduce(one, reduce_op="sum").item(),
                loss=round(trainer.strategy.reduce(line.last, reduce_op="mean").item(), 6),
                kind=type(environment).__name__, external=environment.creates_processes_externally,
                ranks=[trainer.global_rank, trainer.local_rank, trainer.node_rank, trainer.world_size],
                steps=trainer.global_step)
    trainer.strategy.barrier()
    report.leave()


main()
