"""What makes generated functions known to frameworks. Each module imports that framework alone, nothing of tlxgen, and
may be copied: `huggingface` for attention in transformers, `inductor` for products under torch.compile.
"""
