// What `lenbench --version` prints.
#include "cli/versions.h"

#include <fmt/core.h>
#include <openssl/crypto.h>

#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <nlohmann/json.hpp>

#include "base/build_info.h"
#include "base/error.h"
#include "cli/backend_loader.h"

namespace lenbench::cli {

std::string version_text(bool verbose) {
  std::string text = fmt::format("lenbench {} (commit {})\n", version(), commit());
  if (!verbose) return text;
  text += fmt::format("fmt {}.{}.{}\n", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  text += fmt::format("nlohmann_json {}.{}.{}\n", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                      NLOHMANN_JSON_VERSION_PATCH);
  text += fmt::format("CLI11 {}\n", CLI11_VERSION);
  text += fmt::format("Boost {}.{}.{}\n", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100);
  text += fmt::format("{}\n", OpenSSL_version(OPENSSL_VERSION));
  try {
    text += fmt::format("LibTorch {}\n", load_backend()->torch_version());
  } catch (const Error& error) {
    text += fmt::format("LibTorch: {}\n", error.what());
  }
  return text;
}

}  // namespace lenbench::cli
