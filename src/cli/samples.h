// A sample as text: what `show` and `gen` print.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "tasks/catalog.h"
#include "tasks/task.h"

namespace lenbench::cli {

// A worked example for people, indented, each line with a line feed: tokens as fed, and the answers with their rows.
std::string example_text(const TaskInfo& info, const WorkedExample& example);

// For people: the address, sizes, facts, tokens with ids, and what must be answered. `explain` adds for each answer
// where its tokens stand in the prompt, and the task's worked examples.
std::string sample_text(const Task& task, const DrawKey& key, const Sample& sample, bool explain);

// Token ids and names of special tokens with blanks between; of more than `most` tokens the middle is left out and
// counted.
std::string tokens_text(const TaskInfo& info, std::span<const std::int32_t> tokens, std::size_t most);

// Documents for tasks that need them: the files named, else the bundled ones. Reads nothing unless `task` needs them.
// Throws Error for an unreadable, empty or non-UTF-8 file.
TaskResources resources_for(const std::string& task, const std::vector<std::string>& files);

// SHA-256 over names, sizes and bytes in order; empty for no documents.
std::string documents_sha256(const TaskResources& resources);

// Draws the task or throws an Error that names it: length below the minimum, or an index past the documents' end.
Sample draw_checked(const Task& task, const DrawKey& key);

}  // namespace lenbench::cli
