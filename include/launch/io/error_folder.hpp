// The folder of a job's output and error files. app/job_folder uses it, on the thread for files unless the folder is in
// memory. Nothing here waits for a worker, and nothing that a worker wrote is ever removed. The error of a call names
// the first thing that the system refused, with its path.
#pragma once

#include "launch/core/base/error.hpp"

#include <string>
#include <vector>

namespace launch {

// The layout is torchrun's: FOLDER/RUNID_XXXXXX/attempt_N, with a folder for each local rank. Only this user can enter
// the folder of the run. The destructor removes what is empty; what workers wrote stays.
class ErrorFolder {
 public:
  // Makes `folder` if it is missing, and a link `latest` in it to the job's folder, or to the newest one of several
  // jobs.
  static Result<ErrorFolder> create(const std::string& folder, const std::string& run_id);
  // The same in torchelastic_XXXXXX, a new folder in the first of the `places` that can be written to, without the
  // link. REQUIRES: one place.
  static Result<ErrorFolder> create_temporary(const std::vector<std::string>& places, const std::string& run_id);

  // Makes the next attempt's folder, numbered from 0, and those of its local ranks. Folders above it that were removed
  // are made again.
  Status begin_attempt(int nproc);
  // How many attempts have begun. A folder that takes the place of `other` begins with the attempt that `other` began
  // last.
  int attempts() const { return attempts_; }
  void go_on_from(const ErrorFolder& other) { attempts_ = other.attempts_ - 1; }

  ErrorFolder() = default;
  ErrorFolder(ErrorFolder&& other) noexcept;
  ErrorFolder& operator=(ErrorFolder&& other) noexcept;
  ErrorFolder(const ErrorFolder&) = delete;
  ErrorFolder& operator=(const ErrorFolder&) = delete;
  ~ErrorFolder() { remove_empty(); }

  // The folder of the attempt that began last.
  const std::string& attempt() const { return attempt_; }
  bool made() const { return !run_.empty(); }
  // Leaves everything as it is, because its file system does not answer.
  void abandon();
  void remove_empty();

 private:
  static Result<ErrorFolder> make(const std::string& folder, const std::string& run_id);
  bool make_again() const;
  void link_latest();
  void unlink_latest();
  void remove_empty_attempt();

  std::string top_, run_, attempt_;  // top_ is empty if the folder is not ours to remove
  std::string latest_;               // the link; empty: none was made
  int attempts_ = 0;
  int nproc_ = 0;
};

}  // namespace launch
