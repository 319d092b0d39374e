// Vega-Lite specifications as pictures, by tools/render_figure.py in a Python with vl-convert-python.
#pragma once

#include <string>

namespace lenbench::cli {

// Whether `path` ends in an extension that needs the renderer: .svg, .png, .pdf, .html.
bool needs_renderer(const std::string& path);

// Writes `path`. Python is $LENBENCH_PYTHON, else the one that tools/setup.sh --figures made, else python3. Throws
// Error(kNotMeasured) when there is no such Python or module, or the picture cannot be written.
void render_figure(const std::string& specification, const std::string& path);

}  // namespace lenbench::cli
