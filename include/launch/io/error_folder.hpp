// The folder of a job's output and error files. Used by app/job_folder, on the thread for files unless the folder is in
// memory. Nothing here waits for a worker, and nothing that a worker wrote is ever removed. The error of a call is the
// first thing that the system refused, with the path.
#pragma once

#include "launch/core/base/error.hpp"

#include <string>
#include <vector>

namespace launch {

// FOLDER/RUNID_XXXXXX/attempt_N with a folder for each local rank, as torchrun lays them out; only this user can enter
// the folder of the run. On destruction whatever is empty is removed, and what workers wrote stays.
class ErrorFolder {
 public:
  // `folder` is made where it is missing, and gets a link, latest, to the job's: the newest one of several.
  static Result<ErrorFolder> create(const std::string& folder, const std::string& run_id);
  // The same in torchelastic_XXXXXX, a new folder in the first of the `places` that can be written to. REQUIRES: one.
  static Result<ErrorFolder> create_temporary(const std::vector<std::string>& places, const std::string& run_id);

  // The next attempt's folder, from 0 on, and those of its local ranks. Folders above it that were removed are made
  // again.
  Status begin_attempt(int nproc);
  // How many attempts have begun; those of a folder that takes the place of `other` go on from its number.
  int attempts() const { return attempts_; }
  void go_on_from(const ErrorFolder& other) { attempts_ = other.attempts_ - 1; }

  ErrorFolder() = default;
  ErrorFolder(ErrorFolder&& other) noexcept;
  ErrorFolder& operator=(ErrorFolder&& other) noexcept;
  ErrorFolder(const ErrorFolder&) = delete;
  ErrorFolder& operator=(const ErrorFolder&) = delete;
  ~ErrorFolder() { remove_empty(); }

  // Of the attempt that began last.
  const std::string& attempt() const { return attempt_; }
  bool made() const { return !run_.empty(); }
  // Leaves everything as it is: its file system does not answer.
  void abandon();
  void remove_empty();

 private:
  static Result<ErrorFolder> make(const std::string& folder, const std::string& run_id);
  bool make_again() const;
  void link_latest();
  void unlink_latest();
  void remove_empty_attempt();

  std::string top_, run_, attempt_;  // top_ is empty where the folder is not ours to remove
  std::string latest_;               // the link; empty: none was made
  int attempts_ = 0;
  int nproc_ = 0;
};

}  // namespace launch
