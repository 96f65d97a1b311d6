"""The published data sets: where they are, their checksums and class names.

The checksums are those of the packed files as their authors published them. A copy that was
unpacked and compressed again has others, so a directory of the user's own is not checked by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TRAIN_IMAGES = "train-images-idx3-ubyte"
TRAIN_LABELS = "train-labels-idx1-ubyte"
TEST_IMAGES = "t10k-images-idx3-ubyte"
TEST_LABELS = "t10k-labels-idx1-ubyte"
FILES = (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)


@dataclass(frozen=True)
class Published:
    """One published data set of four idx files.

    Attributes:
      name: the source's name in a spec.
      folders: names of the folder it may have below a user's data directory, tried in order.
      mirrors: folders on the web, each ending in a slash, tried in order.
      sha256: checksums of the gzipped files, by name without `.gz`.
      train_counts: examples of every class in the published training part; tells the two data sets,
        whose files have the same names, apart.
      classes: names of the classes in the order of their numbers.
      megabytes: size of the download.
    """

    name: str
    folders: tuple[str, ...]
    mirrors: tuple[str, ...]
    sha256: Mapping[str, str]
    train_counts: tuple[int, ...]
    classes: tuple[str, ...]
    megabytes: int


MNIST = Published(
    name="mnist",
    folders=("mnist", "MNIST/raw"),
    mirrors=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "https://raw.githubusercontent.com/fgnt/mnist/master/",
    ),
    sha256={
        TRAIN_IMAGES: "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        TRAIN_LABELS: "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        TEST_IMAGES: "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        TEST_LABELS: "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    },
    train_counts=(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    classes=tuple(str(digit) for digit in range(10)),
    megabytes=12,
)

FASHION_MNIST = Published(
    name="fashion_mnist",
    folders=("fashion_mnist", "fashion-mnist", "FashionMNIST/raw"),
    mirrors=(
        "https://fashion-mnist.s3.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ),
    sha256={
        TRAIN_IMAGES: "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        TRAIN_LABELS: "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        TEST_IMAGES: "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        TEST_LABELS: "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    },
    train_counts=(6000,) * 10,
    classes=(
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ),
    megabytes=31,
)

PUBLISHED: dict[str, Published] = {"mnist": MNIST, "fashion_mnist": FASHION_MNIST}


@dataclass(frozen=True)
class Archive:
    """One published data set that is a single archive.

    Attributes:
      name: the source's name in a spec.
      file: the archive's name on the mirrors.
      folder: its top folder, which a user's data directory may hold.
      needed: files and folders that must be below it.
      mirrors: folders on the web, each ending in a slash, tried in order.
      md5: the checksum of the archive that its authors published.
      megabytes: size of the download.
    """

    name: str
    file: str
    folder: str
    needed: tuple[str, ...]
    mirrors: tuple[str, ...]
    md5: str
    megabytes: int


CIFAR10 = Archive(
    name="cifar10",
    file="cifar-10-binary.tar.gz",
    folder="cifar-10-batches-bin",
    needed=(
        "batches.meta.txt",
        *(f"data_batch_{number}.bin" for number in range(1, 6)),
        "test_batch.bin",
    ),
    mirrors=("https://www.cs.toronto.edu/~kriz/",),
    md5="c32a1d4ab5d03f1284b67883e8d87530",
    megabytes=170,
)

CIFAR100 = Archive(
    name="cifar100",
    file="cifar-100-binary.tar.gz",
    folder="cifar-100-binary",
    needed=("coarse_label_names.txt", "fine_label_names.txt", "train.bin", "test.bin"),
    mirrors=("https://www.cs.toronto.edu/~kriz/",),
    md5="03b5dce01913d631647c71ecec9e9cb8",
    megabytes=169,
)

TINY_IMAGENET = Archive(
    name="tiny_imagenet",
    file="tiny-imagenet-200.zip",
    folder="tiny-imagenet-200",
    needed=("wnids.txt", "words.txt", "train", "val/images", "val/val_annotations.txt"),
    mirrors=("http://cs231n.stanford.edu/",),
    md5="90528d7ca1a48142e341f4ef8d21d0de",
    megabytes=248,
)

ARCHIVES: dict[str, Archive] = {
    archive.name: archive for archive in (CIFAR10, CIFAR100, TINY_IMAGENET)
}
