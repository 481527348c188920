"""Writes the drawings of the icons in icons.json, a line each, from a folder of lucide-static's SVG files."""

import json
import pathlib
import re
import sys

folder, out = map(pathlib.Path, sys.argv[1:])
names = sorted(json.loads((pathlib.Path(__file__).parent / "icons.json").read_text()))
lines = []
for name in names:
    inner = re.search(r"<svg.*?>(.*)</svg>", (folder / f"{name}.svg").read_text(), re.DOTALL).group(1)
    lines.append(name + "\t" + "".join(line.strip() for line in inner.splitlines()).replace(" />", "/>"))
out.write_text("\n".join(lines) + "\n")
