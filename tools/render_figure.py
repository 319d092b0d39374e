"""Renders a Vega-Lite specification from standard input to SVG, PNG, PDF or one HTML file that works offline.

    lenbench plot accuracy results/records/*.jsonl | python3 tools/render_figure.py -o figure.svg

`lenbench plot -o figure.svg` does the same. Needs vl-convert-python (PyPI); tools/setup.sh --figures installs it.
"""

import argparse
import os
import sys

EXIT_NO_RENDERER = 4


def render(convert, spec, kind):
    if kind == "svg":
        return convert.vegalite_to_svg(spec, vl_version="5.20").encode()
    if kind == "png":
        return convert.vegalite_to_png(spec, vl_version="5.20", scale=2)
    if kind == "pdf":
        return convert.vegalite_to_pdf(spec, vl_version="5.20")
    return convert.vegalite_to_html(spec, vl_version="5.20", bundle=True).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", required=True, help="FILE.svg, FILE.png, FILE.pdf or FILE.html")
    output = parser.parse_args().output
    kind = os.path.splitext(output)[1][1:]
    if kind not in {"svg", "png", "pdf", "html"}:
        sys.exit(f"render_figure.py: '{output}' ends in none of .svg, .png, .pdf, .html")
    try:
        import vl_convert
    except ImportError:
        print("render_figure.py: Python has no module vl_convert (package vl-convert-python)", file=sys.stderr)
        sys.exit(EXIT_NO_RENDERER)
    picture = render(vl_convert, sys.stdin.read(), kind)
    partial = f"{output}.partial-{os.getpid()}"
    try:
        with open(partial, "wb") as file:
            file.write(picture)
        os.replace(partial, output)
    except OSError as error:
        sys.exit(f"render_figure.py: {output}: {error.strerror}")


if __name__ == "__main__":
    main()
