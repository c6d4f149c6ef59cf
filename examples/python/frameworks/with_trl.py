# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: python with_trl.py

TRL's SFTTrainer on a small language model, with gradstep's optimizer by `optimizers`.
"""

import tempfile
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

import gradstep.torch

STEPS = 60
TEXT = "one two three four five six seven eight nine ten"
SETTINGS: dict[str, Any] = {  # on the CPU, without files and reports
    "use_cpu": True,
    "bf16": False,
    "save_strategy": "no",
    "logging_strategy": "no",
    "report_to": [],
    "disable_tqdm": True,
    "dataloader_pin_memory": False,
}


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A word is a token."""
    words = {word: number for number, word in enumerate(["<end>", *TEXT.split()])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<end>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>")


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_positions=32, n_embd=32, n_layer=1, n_head=2))
    data = Dataset.from_list([{"text": TEXT}] * 64)
    with tempfile.TemporaryDirectory() as folder:
        # docs:begin trl
        optimizer = gradstep.torch.AdamW(model.parameters(), lr=1e-2)
        options = SFTConfig(folder, max_steps=STEPS, per_device_train_batch_size=8, max_grad_norm=1.0, **SETTINGS)
        trainer = SFTTrainer(
            model, options, train_dataset=data, processing_class=tokenizer, optimizers=(optimizer, None)
        )
        result = trainer.train()
        # docs:end trl
    print(f"mean loss {result.training_loss:.3f} over {result.global_step} steps")
    with torch.no_grad():
        tokens = torch.tensor([tokenizer(TEXT)["input_ids"]])
        last = float(model(tokens, labels=tokens).loss)
    print(f"loss of the text {last:.3f}")
    if not last < 0.5:
        raise SystemExit("the model has not learned its text")


if __name__ == "__main__":
    main()
