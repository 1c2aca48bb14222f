#!/usr/bin/env python3
"""A 2-layer Llama without weights (for vLLM's --load-format dummy) with SmolLM2's tokenizer: 3.5 MB, starts fast.

usage: make_tiny_model.py GGUF OUT_FOLDER     Needs transformers and gguf (the vLLM venv has them).
"""
import os
import sys

from transformers import AutoTokenizer, LlamaConfig

gguf, out = sys.argv[1:3]
tokenizer = AutoTokenizer.from_pretrained(os.path.dirname(gguf), gguf_file=os.path.basename(gguf))
os.makedirs(out, exist_ok=True)
tokenizer.save_pretrained(out)
LlamaConfig(vocab_size=49152, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, head_dim=64, max_position_embeddings=32768, bos_token_id=1, eos_token_id=2, pad_token_id=2,
            tie_word_embeddings=True, dtype="bfloat16", architectures=["LlamaForCausalLM"]).save_pretrained(out)
