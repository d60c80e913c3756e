"""A training with the real Accelerate, on CPU."""
import argparse

import report
import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import set_seed


def data():
    inputs = torch.linspace(-1, 1, 32).reshape(-1, 1)
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, 3 * inputs + 1), batch_size=4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    epochs = parser.parse_args().epochs
    accelerator = Accelerator(cpu=True)
    set_seed(0)
    model = torch.nn.Linear(1, 1)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), data())
    for _ in range(epochs):
        for inputs, wanted in loader:
            loss = torch.nn.functional.mse_loss(model(inputs), wanted)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
    report.tell(sum=accelerator.reduce(torch.tensor([accelerator.process_index + 1.0])).item(),
                loss=round(accelerator.gather(loss.detach().reshape(1)).mean().item(), 6),
                kind=str(accelerator.distributed_type), backend=dist.get_backend(), batches=len(loader),
                processes=accelerator.num_processes, local=accelerator.local_process_index)
    accelerator.wait_for_everyone()
    report.leave()


main()
