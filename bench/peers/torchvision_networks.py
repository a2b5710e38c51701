"""torchvision's networks that come to us as ONNX files: made alike for both sides, and exported.

  torchvision_networks.py NETWORK SIZE FILE.onnx"""

import sys

import torch
import torchvision

CLASSES = 10


def make(name, size, classes=CLASSES):
    """Without the layers that are left out at random as a whole, which exporters cannot write."""
    options = {"image_size": size} if name.startswith("vit") else {}
    if name in ("googlenet", "inception_v3"):
        options = {"aux_logits": False, "init_weights": True}
    network = getattr(torchvision.models, name)(num_classes=classes, **options)
    for module in network.modules():
        if type(module).__name__ == "StochasticDepth":
            module.p = 0.0
    return network


def export(network, size, file, training=True):
    """As it is trained, with batch norm and dropout, or as it is evaluated; the batch stays open."""
    mode = torch.onnx.TrainingMode
    network.train(training)
    torch.onnx.export(network, (torch.randn(2, 3, size, size),), file, dynamo=False, opset_version=17,
                      input_names=["images"], output_names=["logits"], do_constant_folding=False,
                      training=mode.TRAINING if training else mode.EVAL,
                      dynamic_axes={"images": {0: "batch"}, "logits": {0: "batch"}})


if __name__ == "__main__":
    torch.manual_seed(1)
    export(make(sys.argv[1], int(sys.argv[2])), int(sys.argv[2]), sys.argv[3])
