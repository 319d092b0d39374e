// Prefix rows as Records: what one long pass says of all shorter lengths.
#pragma once

#include <vector>

#include "record/record.h"

namespace lenbench {

// One Record for each entry of measurement.heads_by_position whose rows are at least half there: its length is the
// number of keys that its last row sees, its heads are those of the entry, its probe_rows "prefix", and nothing else is
// measured. Position 0, which sees one key, is left out.
std::vector<Record> prefix_rows(const Record& record);

// The Records with attention statistics, those of prefix rows taken apart.
std::vector<Record> probed_records(const std::vector<Record>& records);

}  // namespace lenbench
