"""Writes a static model as one file, which src/models/static/static-model.ts reads and describes."""
import struct
import zlib

MAGIC, VERSION = b"bandstat", 1


def pack(path, dimensions, scales, table, vocabulary):
    """scales: float32 little-endian, one per token; table: int8, row by row (both as bytes); vocabulary: the tokens by id."""
    count, words = len(vocabulary), "\n".join(vocabulary).encode()
    assert len(scales) == 4 * count and len(table) == count * dimensions and not any("\n" in token for token in vocabulary)
    body = scales + table + words
    with open(path, "wb") as file:
        file.write(MAGIC + struct.pack("<5I", VERSION, dimensions, count, len(words), zlib.crc32(body)) + body)
