// Values of flags as users write them, read strictly: CLI11 only collects the texts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/flag_set.h"
#include "tasks/rng.h"

namespace lenbench::cli {

// A decimal integer of at least `minimum`. `flag` names it in the error, e.g. "--seed".
std::int64_t parse_at_least(std::string_view text, std::string_view flag, std::int64_t minimum);

// CPU threads of `--threads`: 0 (all) to 4096.
int parse_threads(std::string_view text);

// Processes of `--jobs`: 1 to 1024.
int parse_jobs(std::string_view text);

// The texts of `--device`: "cpu", "cuda" or "cuda:N"; and of `--dtype`, which "tf32" belongs to on CUDA alone.
std::string parse_device(const std::string& text);
std::string parse_dtype(const std::string& text, const std::string& device);

// "train", "validation" or "test".
Split parse_split(std::string_view text);

// Throws Error when one of `flags` was given an empty value, as from a variable that is not set.
void require_values(const Parsed& parsed, const std::vector<std::pair<const char*, const std::string&>>& flags);

// One of `known`, else an Error with "did you mean".
void require_one_of(std::string_view text, std::string_view flag, const std::vector<std::string>& known);

// Task texts of `--tasks a,b:k=v,k2=v2,c`: a piece `k=v` without a colon before its '=' continues the parameters of the
// piece before it. Repeated flags add up. Throws Error on an empty piece or a task named twice.
std::vector<std::string> parse_task_list(const std::vector<std::string>& texts);

// Ascending lengths of repeated `--lengths` flags.
std::vector<std::int64_t> parse_length_list(const std::vector<std::string>& texts);

// Bytes: a number, optionally fractional, with B, KB, MB, GB (1000) or KiB, MiB, GiB (1024).
std::int64_t parse_bytes(std::string_view text, std::string_view flag);

// Seconds: a number, optionally fractional, with s, m or h ("90s", "10m", "1.5h"). Throws Error on 0 and below.
double parse_seconds(std::string_view text, std::string_view flag);

// One of N equal pieces of work.
struct Shard {
  std::int64_t index = 1, count = 1;  // 1 <= index <= count
};

// "I/N" with 1 <= I <= N.
Shard parse_shard(std::string_view text);

// Samples per length. `samples` is one count for all or one per length in order; `at` is "L=N,..." and replaces single
// lengths. Throws Error when the counts do not match the lengths, or `at` names a length that is not asked for.
std::map<std::int64_t, std::int64_t> samples_per_length(const std::vector<std::int64_t>& lengths,
                                                        const std::string& samples, const std::vector<std::string>& at);

}  // namespace lenbench::cli
