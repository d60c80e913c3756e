// What a worker said before it failed, and what of that goes into the failure that all nodes hear of. app/job_folder
// reads the files, app/job_record adds the words; no file is opened here, and nothing is added that the worker did not
// say.
#pragma once

#include "launch/core/verdict/failure_report.hpp"

#include <string>

namespace launch {

struct LastWords {
  std::string error_json;     // in which the worker said what its error is; empty: it did not
  std::string errors;         // the last part of its standard error
  std::string error_file;     // where its error.json is
  std::string log_file;       // where its standard error is, as text for the user; empty: on the console
  std::string output_file{};  // where its standard output is, if there is any in a file
  std::string note{};         // why there may be less than it said; else empty
};

// For words that were read from a file on a disk without room.
std::string note_of_full_disk(const std::string& log_file);

// The message in its error.json comes first, then the traceback in its standard error, then the last lines there.
void add_words(Failure& failure, const LastWords& words);

// Adds what launch has found out itself, behind what it already knows.
void add_note(Failure& failure, const std::string& found);

// What the worker's error says of others: a time-out that is about other ranks, or any other sign that something it
// talked to was lost or late.
enum class SaysOfOthers {
  nothing,
  lost_contact,
  timed_out
};
SaysOfOthers says_of_others(const LastWords& words);

}  // namespace launch
