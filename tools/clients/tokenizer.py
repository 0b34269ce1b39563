"""Makes a small byte-level BPE tokenizer in the folder `tokenizer`, for clients that cannot reach a model hub.

It is trained on the text of Python's own help: 4,096 entries, English words and any byte.
"""

import json
from pathlib import Path
from pydoc_data.topics import topics

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
alphabet = pre_tokenizers.ByteLevel.alphabet()
trainer = trainers.BpeTrainer(vocab_size=4096, initial_alphabet=alphabet, special_tokens=["</s>"])
tokenizer.train_from_iterator(sorted(topics.values()), trainer)
folder = Path("tokenizer")
folder.mkdir(exist_ok=True)
tokenizer.save(str(folder / "tokenizer.json"))
config = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "model_max_length": 131072,
    "eos_token": "</s>",
    "pad_token": "</s>",
    "chat_template": "{% for message in messages %}{{ message['content'] }}{% endfor %}",
}
(folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")
# Transformers looks for the model type before it reads the tokenizer.
(folder / "config.json").write_text(json.dumps({"model_type": "llama"}) + "\n")
