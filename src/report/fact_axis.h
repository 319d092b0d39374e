// A recorded fact of the samples as horizontal axis, in place of the nominal length.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/record.h"
#include "report/chart.h"

namespace lenbench {

// The value of "effective" (tokens fed, the middle of their range) or of a fact of the samples (its mean); none where
// the Record does not know it.
std::optional<double> fact_of(const Record& record, const std::string& name);

// "effective" and the names of all facts of these Records, ascending.
std::vector<std::string> fact_names(const std::vector<Record>& records);

// Throws Error ("did you mean") when no Record knows `name`.
void require_fact(const std::vector<Record>& records, const std::string& name);

// The axis for values of `name`: logarithmic where all are above 0 and they span a factor of 8 or more.
ChartAxis fact_axis(const std::string& name, const std::vector<double>& values);

}  // namespace lenbench
