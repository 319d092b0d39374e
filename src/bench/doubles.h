// Models without weights, for tests, floors and a first look: they know the answer, or nothing at all.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/predictor.h"

namespace lenbench {

// What can be written as a model:
//   oracle      every answer right, with probability 1
//   oracle:N    right up to nominal length N, wrong beyond
//   blind       a guess from the task's answer alphabet, drawn by the sample's address; never reads the prompt
//   uniform     equal logits: nll is ln(vocabulary), argmax is 0
//   echo        produces not one new token: argmax is -1, so that every scoring rule must give 0
//   last-value     the last token of the answer alphabet that the row has read, answers fed back included
//   most-frequent  the most frequent such token, the lowest id of several
//   nan@P       as oracle, but logits are NaN from position P on (argmax 0, as an argmax over NaN gives)
//   oom@L       as oracle, but throws out of memory from nominal length L on
//   sleepy:MS   as oracle, but takes MS milliseconds for each sample
// Doubles learn length and index through Predictor::announce(); predict() without it throws std::logic_error.
std::vector<std::string> double_names();  // as in the list above, with their letter for the number

// One line on each, parallel to double_names().
std::vector<std::string> double_summaries();

// True when the part before ':' or '@' names a double.
bool is_double(std::string_view name);

// Throws Error on an unknown name ("did you mean"), a number missing, malformed, negative or superfluous.
std::unique_ptr<Predictor> make_double(std::string_view name);

// Distinct target tokens of the answers of `task` at `length`, ascending: what a guesser knows who has seen training
// samples but not the prompt. Collected over `samples` samples of the training split, fewer when
// they are long and have shown no new token for 1,024 rows per token known.
std::vector<std::int32_t> answer_alphabet(const Task& task, std::int64_t length, std::int64_t samples = 64);

}  // namespace lenbench
