// What is in the file of PyTorch's FileStore, as values: records of a key and a value, each after its length, of which
// the last one of a key counts; and what each operation reads from it and appends to it. io/file_store_client reads and
// writes the file, under its lock. Other keys than those of clients, such as "refcount/", are kept and never shown.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/store/store_operation.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace launch {

// What an operation does with the file as it is now.
struct FileAnswer {
  std::string append;              // records
  std::optional<Outcome> outcome;  // nullopt: an AwaitKeys whose keys are not all there
};

class FileRecords {
 public:
  // The bytes of the file that follow those read before. An error: this is no file of a FileStore. Who holds the lock
  // of the file sees whole records only.
  Status read(std::string_view bytes);

  // An Attend and a LeaveWill are errors: no launch agent hosts this store.
  Result<FileAnswer> on(const Operation& operation) const;

 private:
  struct Reader;
  std::map<std::string, std::string, std::less<>> values_;
};

// Whether it may append, so that nobody else may read or write the file meanwhile.
bool changes_file(const Operation& operation);

}  // namespace launch
