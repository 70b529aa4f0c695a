#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""idx_to_png.py IMAGES.gz LABELS.gz COUNT DIR: the first COUNT images of gzipped IDX files as PNG, named by class."""
import gzip
import struct
import sys
import zlib

NAMES = "T-shirt Trouser Pullover Dress Coat Sandal Shirt Sneaker Bag Boot".split()


def png_chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_grey(width, height, pixels):
    rows = b"".join(b"\0" + pixels[y * width:(y + 1) * width] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(rows))
            + png_chunk(b"IEND", b""))


def main():
    images, labels, count, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    with gzip.open(images) as i, gzip.open(labels) as l:
        _, _, height, width = struct.unpack(">IIII", i.read(16))
        l.read(8)
        for n in range(count):
            pixels, label = i.read(width * height), l.read(1)[0]
            with open(f"{folder}/{n}-{NAMES[label]}.png", "wb") as out:
                out.write(png_grey(width, height, pixels))


main()
