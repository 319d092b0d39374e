// Records with numbers set by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "record/record.h"

namespace lenbench {

inline Proportion proportion_of(std::int64_t right, std::int64_t n, double low, double high) {
  return {n, right, static_cast<double>(right) / static_cast<double>(n), low, high};
}

inline Record record_of(const std::string& name, std::int64_t length, std::uint64_t seed = 0) {
  Record record;
  record.question.task = "recall";
  record.question.parameters = {{"density", "8"}, {"keys", "256"}};
  record.question.comparability = "inspired: none";
  record.question.length = length;
  record.question.data_seed = seed;
  record.question.metric = "exact_match";
  record.subject.name = name;
  record.subject.device = "cpu";
  record.samples_requested = 100;
  record.measurement.samples = 100;
  return record;
}

// 95 % Wilson: 50/100 is [0.4038, 0.5962], 0/100 [0, 0.0370], 100/100 [0.9630, 1].
inline Record exact_record(const std::string& name, std::int64_t length, std::int64_t right, double low, double high,
                           std::uint64_t seed = 0) {
  Record record = record_of(name, length, seed);
  record.measurement.exact = proportion_of(right, 100, low, high);
  return record;
}
inline Record half(const std::string& name, std::int64_t length, std::uint64_t seed = 0) {
  return exact_record(name, length, 50, 0.4038, 0.5962, seed);
}
inline Record none(const std::string& name, std::int64_t length, std::uint64_t seed = 0) {
  return exact_record(name, length, 0, 0, 0.0370, seed);
}
inline Record all(const std::string& name, std::int64_t length, std::uint64_t seed = 0) {
  return exact_record(name, length, 100, 0.9630, 1, seed);
}

inline Record failed_record(const std::string& name, std::int64_t length, const std::string& reason,
                            std::uint64_t seed = 0) {
  Record record = record_of(name, length, seed);
  record.status = "failed";
  record.reason = reason;
  record.measurement = {};
  return record;
}

inline Record perplexity_record(const std::string& name, std::int64_t length, double perplexity) {
  Record record = record_of(name, length);
  record.question.task = "text";
  record.question.metric = "perplexity";
  record.question.parameters = {{"bos", "window"}};
  record.measurement.perplexity = perplexity;
  return record;
}

template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

}  // namespace lenbench
