"""The main job: a small convolutional classifier of handwritten digits, trained three ways on real scans.

    make demo            (or: python -m examples.digits [--epochs 20] [--out examples/out])

`functional` has the model as a pytree and a jitted step; `facade` is a plain PyTorch program, as it stands and with its step
compiled. `data` is what they share, `checks` holds transforms against loops, `report` has the table and the picture.
"""
