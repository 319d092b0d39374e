// Samples as JSON lines, written for other tools and read back: a header line, then one sample a line.
//
// Header: {"lenbench", "task", "task_version", "parameters", "comparability", "metric", "input", "vocab_size",
// "specials", "chance", "length", "samples", "seed", "split", "sha256"}; "task", "vocab_size" and "samples" are
// required, "sha256" is that of the lines that follow. Sample: {"address", "length", "prompt_tokens", "tokens",
// "scored", "sources", "facts"}; "length", "tokens" and "scored" are required. `scored` is a list of {"position",
// "target", "answer", "fed_back"} as in ScoredToken; positions count from 0. A file may hold samples of several lengths
// when its header names none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tasks/task.h"

namespace lenbench {

// One line without a line feed.
std::string sample_line(const Task& task, const DrawKey& key, const Sample& sample);
// The header of `samples` samples from index 0 of `key`'s length, seed and split. `sha256` is that of their lines, each
// with its line feed.
std::string sample_file_header(const Task& task, const DrawKey& key, std::int64_t samples, const std::string& version,
                               const std::string& sha256);

// For tasks whose ids below 256 are bytes: {"address", "length", "prompt", "answers"} in one line without a line feed.
// The prompt is what is fed up to the first row judged, special tokens left out; an answer is one string for each
// answer, or one for all rows judged where the task has none. Bytes that are no UTF-8 become the characters \xNN, so
// this form is for reading and is not read back. Throws Error for a task of other ids.
std::string sample_text_line(const Task& task, const DrawKey& key, const Sample& sample);

// A file of samples as a task. draw() gives the file's samples of a length in the file's order, whatever seed and
// split; solve() knows no rule and gives -1 throughout. `info().data_sha256` is that of the file.
struct SampleFile {
  std::shared_ptr<const Task> task;
  std::vector<std::int64_t> lengths;  // ascending
  std::uint64_t seed = 0;             // of the header
  Split split = Split::kTest;
};
// `where` names the file in messages. Throws Error, naming the line, when the text is no such file or contradicts
// itself: a token or target outside the vocabulary, a BOS that is not the first token, rows that do not ascend or lie
// outside the tokens, a target said to be fed back that is not, a prompt length that is not the first row's, an address
// that occurs twice, another number of samples or another hash than the header says.
SampleFile read_sample_file(const std::string& bytes, const std::string& where);

}  // namespace lenbench
