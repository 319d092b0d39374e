// A check's result as text, Markdown, JSON and JUnit XML.
#pragma once

#include <string>

#include "verdict/judge.h"

namespace lenbench {

// What was compared, for headings: "recall-asentmax-nape against ci.json".
struct CheckHeading {
  std::string now, baseline;
  std::string baseline_sha256, baseline_commit, policy_source;
};

// Table of all cells, worst first, and the summary as last line. `verbose` is Markdown for a pull request: a heading,
// and cells that are same or better folded away. Same input, same bytes.
std::string check_table(const CheckResult& result);
std::string check_markdown(const CheckResult& result, const CheckHeading& heading, const Policy& policy);

// One object: {"format", "schema", "verdict", "exit_code", "policy", "cells": [...]}.
std::string check_json(const CheckResult& result, const CheckHeading& heading, const Policy& policy);

// One test suite, a test case for each cell: worse and missing are failures, failed and not comparable errors,
// undecided and acknowledged skipped with a message, the rest passed. Characters that XML 1.0 forbids are escaped.
std::string check_junit(const CheckResult& result, const CheckHeading& heading);

}  // namespace lenbench
