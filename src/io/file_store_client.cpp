#include "launch/io/file_store_client.hpp"

#include "launch/core/store/file_records.hpp"
#include "launch/core/store/keys.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <boost/asio/this_coro.hpp>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration file_answers = 60s;  // torchrun's read_timeout
constexpr Duration lock_again = 3ms;    // while others have the lock
constexpr Duration grown_again = 100ms;
constexpr std::size_t read_at_once = std::size_t{256} * 1024;

Error file_closed() { return {ErrorCode::closed, "the file was closed"}; }

// For a key that nobody writes.
bool waits_in_vain(const Operation& operation) {
  const auto* const wait = std::get_if<AwaitKeys>(&operation);
  return wait != nullptr && wait->keys == KeyList(1, std::string(never_key));
}

}  // namespace

// What one look at the file gave.
struct FileStoreClient::Look {
  bool locked_out = false;         // somebody else has the lock
  std::optional<Outcome> outcome;  // nullopt: there is nothing to tell yet
};

class FileStoreClient::File {
 public:
  explicit File(std::string path) : path_(std::move(path)) {}

  Result<Look> look(const Operation& operation) {
    Fd fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!fd.valid()) return fault("open", errno);
    const bool changes = changes_file(operation);
    if (::flock(fd.get(), (changes ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK || errno == EINTR) return Look{true, std::nullopt};
      return fault("lock", errno);
    }
    if (Status read = read_on(fd.get()); !read) return read.error();
    auto answer = records_.on(operation);
    if (!answer) return named(answer.error());
    if (Status appended = append(fd.get(), answer->append); !appended) return appended.error();
    return Look{false, std::move(answer->outcome)};
  }

 private:
  Error fault(std::string_view what, int code) const {
    return {ErrorCode::closed,
            fmt::format("cannot {} the file of the store, {}: {}", what, path_, std::system_category().message(code))};
  }
  Error named(const Error& error) const {
    return {error.code, fmt::format("the file {} cannot be the store: {}", path_, error.message)};
  }

  // A file that is another one than before, or shorter, is read from its beginning.
  Status read_on(int fd) {
    struct stat facts {};
    if (::fstat(fd, &facts) != 0) return fault("look at", errno);
    if (facts.st_ino != inode_ || facts.st_size < read_) {
      records_ = FileRecords();
      read_ = 0;
      inode_ = facts.st_ino;
    }
    if (facts.st_size == read_) return {};
    std::string bytes;
    const auto wanted = static_cast<std::size_t>(facts.st_size - read_);
    while (bytes.size() < wanted) {
      const std::size_t have = bytes.size();
      bytes.resize(std::min(wanted, have + read_at_once));
      const auto count = ::pread(fd, bytes.data() + have, bytes.size() - have, read_ + static_cast<off_t>(have));
      if (count < 0) return fault("read", errno);
      bytes.resize(have + static_cast<std::size_t>(count));
      if (count == 0) break;
    }
    if (Status read = records_.read(bytes); !read) return named(read.error());
    read_ += static_cast<off_t>(bytes.size());
    return {};
  }

  // Half a record would be the end of the store for everybody.
  Status append(int fd, const std::string& records) const {
    std::size_t written = 0;
    while (written < records.size()) {
      const auto count =
          ::pwrite(fd, records.data() + written, records.size() - written, read_ + static_cast<off_t>(written));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        const int code = errno;
        if (::ftruncate(fd, read_) != 0) return fault("repair", errno);
        return fault("write", code);
      }
      written += static_cast<std::size_t>(count);
    }
    return {};
  }

  std::string path_;
  FileRecords records_;
  off_t read_ = 0;
  ino_t inode_ = 0;
};

FileStoreClient::FileStoreClient(const asio::any_io_executor& executor, std::string path)
    : path_(std::move(path)),
      file_(std::make_shared<File>(path_)),
      disk_(std::make_unique<DiskThread>(executor)),
      timer_(executor) {}

FileStoreClient::FileStoreClient(FileStoreClient&& other) noexcept = default;

FileStoreClient::~FileStoreClient() = default;

asio::awaitable<Result<Outcome>> FileStoreClient::perform(Operation operation, Time deadline) {
  waiting_ = waits(operation);
  if (waits_in_vain(operation)) {
    co_await rest(deadline);
    waiting_ = woken_ = false;
    co_return Outcome(WaitExpired{});
  }
  const auto shared = std::make_shared<const Operation>(std::move(operation));
  const Time answered = waiting_ ? later(now(), patience_) : std::min(deadline, later(now(), file_answers));
  Time looks_until = answered;
  Result<Outcome> result = Outcome(WaitExpired{});
  while (true) {
    const bool last = waiting_ && (woken_ || now() >= deadline);
    auto seen = co_await look(shared, looks_until);
    if (closed_) seen = file_closed();
    if (!seen) result = seen.error();
    if (seen && seen->outcome) result = *std::move(seen->outcome);
    if (!seen || seen->outcome || last) break;
    co_await rest(std::min(deadline, later(now(), grown_again)));
    looks_until = later(now(), patience_);
  }
  waiting_ = woken_ = false;
  co_return result;
}

// Once it has the lock. The file is left to a thread that has not returned by the deadline.
asio::awaitable<Result<FileStoreClient::Look>> FileStoreClient::look(std::shared_ptr<const Operation> operation,
                                                                     Time deadline) {
  bool locked_out = false;
  while (!closed_) {
    auto looking = disk_->run_until(deadline, [file = file_, operation] { return file->look(*operation); });
    auto seen = co_await std::move(looking);
    if (!seen) break;
    locked_out = *seen && (*seen)->locked_out;
    if (!locked_out) co_return *std::move(seen);
    if (now() >= deadline) break;
    timer_.expires_at(to_steady(later(now(), lock_again)));
    (void)co_await timer_.async_wait(as_values);
  }
  if (!closed_)
    co_return Error{ErrorCode::timeout,
                    fmt::format("the file {} does not answer: {}", path_,
                                locked_out ? "others keep it locked" : "its disk or the server of it stalls")};
  co_return file_closed();
}

asio::awaitable<void> FileStoreClient::rest(Time until) {
  if (woken_ || closed_) co_return;
  timer_.expires_at(to_steady(until));
  (void)co_await timer_.async_wait(as_values);
}

void FileStoreClient::wake() {
  if (!waiting_) return;
  woken_ = true;
  timer_.cancel();
}

void FileStoreClient::close() {
  closed_ = true;
  timer_.cancel();
}

asio::awaitable<Result<FileStoreClient>> open_file_store(std::string path, Time deadline) {
  FileStoreClient client(co_await asio::this_coro::executor, std::move(path));
  Operation look = CheckKeys{{std::string(host_key)}};
  auto looked = co_await client.perform(std::move(look), deadline);
  if (!looked) co_return looked.error();
  co_return std::move(client);
}

}  // namespace launch
