// A client of PyTorch's FileStore: a file, on this machine or on a folder that several share, which all nodes of a job
// read and append to under its lock. Files are touched on a thread of their own, since a file server may stall. A wait
// looks ten times a second whether the file has grown.
//
// The file stays when the job has ended, as torchrun's does. A file that was removed is made again, empty.
#pragma once

#include "launch/io/disk_thread.hpp"
#include "launch/io/store_access.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <string>

namespace launch {

class FileStoreClient : public StoreAccess {
 public:
  FileStoreClient(const boost::asio::any_io_executor& executor, std::string path);
  FileStoreClient(FileStoreClient&& other) noexcept;
  FileStoreClient& operator=(FileStoreClient&& other) = delete;
  ~FileStoreClient() override;

  boost::asio::awaitable<Result<Outcome>> perform(Operation operation, Time deadline) override;
  void set_patience(Duration patience) override { patience_ = patience; }
  void set_beats(Duration /*interval*/, Duration patience) override { patience_ = patience; }
  bool silent() const override { return false; }
  void part() override { close(); }
  void wake() override;
  void close() override;
  Endpoint peer() const override { return {path_, 0, StoreKind::file}; }
  std::string own_address() const override { return {}; }

 private:
  class File;
  struct Look;

  boost::asio::awaitable<Result<Look>> look(std::shared_ptr<const Operation> operation, Time deadline);
  boost::asio::awaitable<void> rest(Time until);

  std::string path_;
  std::shared_ptr<File> file_;  // used by the thread only
  std::unique_ptr<DiskThread> disk_;
  boost::asio::steady_timer timer_;
  Duration patience_ = std::chrono::seconds(10);
  bool waiting_ = false;  // the operation under way waits for others
  bool woken_ = false;    // and must end now
  bool closed_ = false;
};

// Makes the file unless it is there. The error says why that cannot be, or what the file is.
boost::asio::awaitable<Result<FileStoreClient>> open_file_store(std::string path, Time deadline);

}  // namespace launch
