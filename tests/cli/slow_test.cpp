// Pages in a browser, tables in TeX, figures in the renderer, and a million Records.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/many_records.h"
#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

bool has_program(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

std::vector<std::string> bundled_records() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(LENBENCH_RECORDS))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> words(std::vector<std::string> first, const std::vector<std::string>& last) {
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

TEST(Latex, EveryTableCompilesAsItIs) {
  if (!has_program("pdflatex")) GTEST_SKIP() << "no pdflatex: install texlive-latex-recommended";
  TempFolder folder;
  ASSERT_EQ(lenbench(words({"table", "--format", "latex", "-o", folder.path("bundled.tex")}, bundled_records())).code,
            0);
  std::filesystem::copy_file(std::string(LENBENCH_TEST_DATA) + "/golden/report/table.tex", folder.path("golden.tex"));
  for (const std::string table : {"bundled", "golden"}) {
    spill(folder.path("main.tex"),
          "\\documentclass{article}\n\\usepackage{booktabs,xcolor}\n\\begin{document}\n\\input{" + table +
              "}\n\\end{document}\n");
    const std::string command =
        "cd '" + folder.path() + "' && pdflatex -halt-on-error -interaction=nonstopmode main.tex >log.txt 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << slurp(folder.path("log.txt"));
    EXPECT_TRUE(std::filesystem::exists(folder.path("main.pdf")));
    std::filesystem::remove(folder.path("main.pdf"));
  }
}

TEST(Renderer, DrawsEveryKindOfFigureInEveryFormat) {
  TempFolder folder;
  const std::vector<std::string> records = bundled_records();
  const std::string probe = folder.path("probe.svg");
  const Outcome first = lenbench(words({"plot", "accuracy", "-o", probe}, records));
  if (first.code == 3 && first.err.find("vl-convert-python") != std::string::npos) {
    GTEST_SKIP() << "no renderer: run tools/setup.sh --figures";
  }
  ASSERT_EQ(first.code, 0) << first.err;
  for (const char* what : {"accuracy,perplexity", "dispersion", "heads", "relevant", "spread", "temperature"}) {
    const std::string path = folder.path("figure.svg");
    EXPECT_EQ(lenbench(words({"plot", what, "-o", path}, records)).code, 0);
    EXPECT_NE(slurp(path).find("<svg"), std::string::npos) << what;
    EXPECT_EQ(slurp(path).find("NaN"), std::string::npos) << what;
  }
  const std::pair<const char*, const char*> kinds[] = {
      {"f.png", "\x89PNG"}, {"f.pdf", "%PDF"}, {"f.html", "<!DOCTYPE"}};
  for (const auto& [name, magic] : kinds) {
    EXPECT_EQ(lenbench(words({"plot", "accuracy", "-o", folder.path(name)}, records)).code, 0);
    EXPECT_TRUE(slurp(folder.path(name)).starts_with(magic)) << name;
  }
  EXPECT_EQ(slurp(folder.path("f.html")).find("src=\"http"), std::string::npos);
}

// Written into a copy of the page: what went wrong, what was drawn, and when.
const char* const kWatch = "<script>window.problems=[];window.onerror=(m)=>problems.push(m);</script>";
const char* const kTell = R"html(<script>
addEventListener("load", () => {
  const ms = performance.now();
  for (const d of document.querySelectorAll("details")) d.open = true;
  const pictures = [...document.querySelectorAll("figure svg[role=img]")];
  const drawn = pictures.filter((p) => p.getBoundingClientRect().width > 100 && p.querySelector(".mark") &&
    p.querySelector(".mark").getBoundingClientRect().width > 0 && p.tabIndex === 0);
  const last = pictures.length ? pictures[0] : null;
  if (last) last.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  const scrolling = [...document.querySelectorAll(".scroll")].filter((s) => s.scrollWidth > s.clientWidth + 1);
  const result = { problems, scrolling: scrolling.map((s) => s.textContent.slice(0, 60)), pictures: pictures.length, drawn: drawn.length, ms,
    tip: document.getElementById("tip").textContent, wide: document.documentElement.scrollWidth > innerWidth,
    loaded: performance.getEntriesByType("resource").filter((r) => !r.name.startsWith("data:")).length };
  document.title = JSON.stringify(result);
});
</script>)html";

TEST(Browser, TheReportOfTheBundledRecordsIsDrawnWithoutErrors) {
  if (!has_program("chromium")) GTEST_SKIP() << "no browser: install chromium";
  TempFolder folder;
  const std::string path = folder.path("report.html");
  ASSERT_EQ(lenbench(words({"report", "-o", path}, bundled_records())).code, 0);
  std::string page = slurp(path);
  std::size_t records = 0;
  for (const std::string& file : bundled_records()) records += lines_of(slurp(file)).size();
  EXPECT_LT(page.size(), 500'000 + 20'000 * records);  // the program of the pictures, and what grows with the Records
  page.insert(page.find("<style>"), kWatch);
  page.insert(page.rfind("</body>"), kTell);
  spill(folder.path("watched.html"), page);
  double fastest_ms = 1e9;  // a busy machine draws late
  for (const char* size : {"1280,900", "500,800", "1280,900"}) {
    const std::string command = "cd '" + folder.path() + "' && HOME=. timeout 120 chromium --headless --no-sandbox " +
                                "--disable-gpu --disable-dev-shm-usage --window-size=" + size + " --dump-dom 'file://" +
                                folder.path("watched.html") + "' >dom.html 2>chromium.log";
    ASSERT_EQ(std::system(command.c_str()), 0) << slurp(folder.path("chromium.log"));
    const std::string dom = slurp(folder.path("dom.html"));
    const std::size_t begin = dom.find("<title>{") + 7, end = dom.find("</title>", begin);
    ASSERT_NE(end, std::string::npos) << dom.substr(0, 400);
    const nlohmann::json result = nlohmann::json::parse(dom.substr(begin, end - begin));
    EXPECT_TRUE(result["problems"].empty()) << result.dump();
    EXPECT_GT(result["pictures"], 10) << result.dump();
    EXPECT_EQ(result["drawn"], result["pictures"]) << result.dump();
    EXPECT_EQ(result["loaded"], 0) << result.dump();
    EXPECT_FALSE(result["wide"].get<bool>()) << size << " scrolls sideways";
    if (std::string_view(size).starts_with("1280")) {
      EXPECT_TRUE(result["scrolling"].empty()) << result["scrolling"].dump();
    }
    EXPECT_NE(result["tip"], "") << result.dump();
    fastest_ms = std::min(fastest_ms, result["ms"].get<double>());
  }
  // A time means something on a quiet machine only.
  if (std::getenv("LENBENCH_TIMING") != nullptr) {
    EXPECT_LT(fastest_ms, 2000);
  }
  RecordProperty("fastest_ms", std::to_string(fastest_ms));
}

TEST(Million, RecordsAreTabulatedInBoundedMemory) {
  if (std::getenv("LENBENCH_MILLION") == nullptr) {
    GTEST_SKIP() << "takes minutes and 3 GB of disk: set LENBENCH_MILLION=1";
  }
  TempFolder folder;
  const std::string path = folder.path("million.jsonl");
  const std::size_t bytes = write_many_records(path, 1'000'000);
  EXPECT_GT(bytes, 1'000'000'000U);
  Child child({"table", path, "--format", "csv", "-o", folder.path("million.csv")});
  const Outcome outcome = child.wait(1200);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_LT(outcome.peak_kib, 1'500'000) << "bytes of Records: " << bytes;
  EXPECT_NE(outcome.err.find("1000000 Records read"), std::string::npos);
  RecordProperty("seconds", std::to_string(outcome.seconds));
  std::printf("%zu bytes, %.0f s, %ld KiB\n", bytes, outcome.seconds, outcome.peak_kib);
}

}  // namespace
}  // namespace lenbench::cli_test
