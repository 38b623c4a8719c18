"""Draws pictures where no camera is at hand: python3 draw.py sorted|mixed FOLDER COUNT [SEED]

COUNT circles, squares and triangles each, 96 by 96, PNG: `sorted` puts them into FOLDER/circle,
FOLDER/square and FOLDER/triangle, `mixed` all into FOLDER. Another SEED gives other pictures. Needs
nothing but Python.
"""

import random
import struct
import sys
import zlib
from pathlib import Path

SIDE = 96
COLOURS = {"circle": (200, 50, 50), "square": (50, 180, 60), "triangle": (50, 70, 200)}


def covers(shape, x, y):
    """Whether a shape from -1 to 1 has a point."""
    if shape == "circle":
        return x * x + y * y <= 1
    return max(abs(x), abs(y)) <= 1 if shape == "square" else abs(y) <= 1 and abs(x) <= (y + 1) / 2


def draw(shape, chance):
    half = chance.uniform(15, 30)
    middle_x, middle_y = (chance.uniform(half, SIDE - half) for _ in range(2))
    ground = [chance.uniform(90, 200) for _ in range(3)]
    colour = [part + chance.uniform(-40, 40) for part in COLOURS[shape]]
    rows = []
    for y in range(SIDE):
        row = bytearray()
        for x in range(SIDE):
            is_shape = covers(shape, (x - middle_x) / half, (y - middle_y) / half)
            row += bytes(
                min(255, max(0, int(part + chance.uniform(-25, 25))))
                for part in (colour if is_shape else ground)
            )
        rows.append(bytes(row))
    return rows


def png(rows):
    def chunk(name, data):
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    parts = chunk(b"IHDR", header), chunk(b"IDAT", pixels), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def main(order, folder, count, seed="0"):
    for shape in COLOURS:
        for number in range(int(count)):
            name = f"{shape}/{number:03}.png" if order == "sorted" else f"{number:03}-{shape}.png"
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png(draw(shape, random.Random(f"{seed} {shape} {number}"))))


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5) or sys.argv[1] not in ("sorted", "mixed"):
        sys.exit("usage: python3 draw.py sorted|mixed FOLDER COUNT [SEED]")
    main(*sys.argv[1:])
