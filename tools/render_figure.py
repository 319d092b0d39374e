"""Draws a table of `lenbench table --format json` as small multiples over length, one panel a metric, to SVG or PNG.

    lenbench table results/records/recall.jsonl --metric answer,entropy --format json | python3 tools/render_figure.py -o figure.svg

Needs vl-convert-python (PyPI). Values, intervals and training lengths come from the table; nothing is computed here.
"""

import argparse
import json
import sys

# Okabe and Ito's colours, told apart by most readers with a colour-vision deficiency; one per method, in this order always.
METHODS = ["softmax", "adaptive-temperature", "ssmax", "entmax", "sparsemax", "entmax-theta", "asentmax", "asentmax-learned-alpha"]
COLOURS = ["#000000", "#999999", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#D55E00", "#CC79A7"]
TITLES = {"answer": "answers right, %", "entropy": "normalized entropy of answer rows", "exact": "samples right, %"}


def method_of(name):
    matches = [method for method in METHODS if f"-{method}-" in f"-{name}-"]
    return max(matches, key=len) if matches else name


def panel(grid):
    percent = grid["metric"] in {"answer", "exact", "token"}
    factor = 100 if percent else 1
    points, train_lengths = [], set()
    for row in grid["rows"]:
        if row["kind"] != "measured":
            continue
        if row["train_length"]:
            train_lengths.add(row["train_length"])
        for cell in row["cells"]:
            if cell["value"] is None:
                continue
            point = {"method": method_of(row["name"]), "length": cell["length"], "value": cell["value"] * factor}
            if cell["low"] is not None:
                point.update(low=cell["low"] * factor, high=cell["high"] * factor)
            points.append(point)
    methods = [m for m in METHODS if any(p["method"] == m for p in points)]
    methods += sorted({p["method"] for p in points} - set(methods))
    scale = {"domain": methods, "range": [COLOURS[METHODS.index(m)] if m in METHODS else "#0072B2" for m in methods]}
    x = {"field": "length", "type": "quantitative", "scale": {"type": "log", "base": 2, "nice": False},
         "title": "length, tokens", "axis": {"grid": False, "values": sorted({p["length"] for p in points}), "format": "d"}}
    colour = {"field": "method", "type": "nominal", "scale": scale, "title": None}
    y_scale = {"domain": [0, 100] if percent else [0, 1]}
    layers = [
        {"mark": {"type": "rule", "strokeDash": [4, 4], "color": "#888888"}, "data": {"values": [{"length": n} for n in sorted(train_lengths)]},
         "encoding": {"x": x}},
        {"mark": {"type": "area", "opacity": 0.12}, "transform": [{"filter": "isValid(datum.low)"}],
         "encoding": {"x": x, "y": {"field": "low", "type": "quantitative", "scale": y_scale, "title": TITLES.get(grid["metric"], grid["metric"])},
                      "y2": {"field": "high"}, "color": {**colour, "legend": None}}},
        {"mark": {"type": "line", "point": {"size": 30}},
         "encoding": {"x": x, "y": {"field": "value", "type": "quantitative", "scale": y_scale, "title": TITLES.get(grid["metric"], grid["metric"])},
                      "color": colour}},
    ]
    return {"title": f"{grid['task']} {grid['parameters']}".strip(), "width": 330, "height": 220, "data": {"values": points}, "layer": layers}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", required=True, help="FILE.svg, FILE.png or FILE.vl.json")
    arguments = parser.parse_args()
    table = json.load(sys.stdin)
    spec = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "background": "white",
            "hconcat": [panel(grid) for grid in table["grids"]],
            "config": {"view": {"stroke": "#dddddd"}, "axis": {"labelFontSize": 10}, "legend": {"orient": "right"}}}
    if arguments.output.endswith(".vl.json"):
        with open(arguments.output, "w", encoding="utf-8") as file:
            json.dump(spec, file, indent=1)
        return
    import vl_convert
    if arguments.output.endswith(".png"):
        with open(arguments.output, "wb") as file:
            file.write(vl_convert.vegalite_to_png(spec, scale=2))
    else:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(vl_convert.vegalite_to_svg(spec))


if __name__ == "__main__":
    main()
