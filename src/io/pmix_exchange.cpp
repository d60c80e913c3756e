#include "launch/io/pmix_exchange.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/own_reach.hpp"
#include "launch/io/side_process.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr const char* library_name = "libpmix.so.2";
constexpr Duration time_to_load = std::chrono::seconds(60);  // from a file system that all nodes share
constexpr Duration quiet_wait = std::chrono::seconds(10);    // after that the user is told that others are waited for

// ---- the library's own types and numbers

struct Process {
  std::array<char, 256> space{};
  std::uint32_t rank = 0;
};

struct Value {
  std::uint16_t type = 0;
  union {
    const char* text;
    std::uint32_t number;
    std::array<char, 64> room;
  } data{};
};

constexpr int success = 0;
constexpr int scope_of_all = 3;
constexpr std::uint16_t type_of_text = 3;

// What is used of it, by its names.
struct Library {
  int (*init)(Process*, void*, std::size_t) = nullptr;
  int (*put)(std::uint8_t, const char*, Value*) = nullptr;
  int (*commit)() = nullptr;
  int (*fence)(const Process*, std::size_t, const void*, std::size_t) = nullptr;
  int (*get)(const Process*, const char*, const void*, std::size_t, Value**) = nullptr;
  int (*finalize)(const void*, std::size_t) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// `why`: why the last one cannot be used.
std::optional<Library> load(const std::vector<std::string>& paths, std::string& why) {
  for (const std::string& path : paths) {
    void* const opened = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    Library library;
    if (opened != nullptr && find(opened, "PMIx_Init", library.init) && find(opened, "PMIx_Put", library.put) &&
        find(opened, "PMIx_Commit", library.commit) && find(opened, "PMIx_Fence", library.fence) &&
        find(opened, "PMIx_Get", library.get) && find(opened, "PMIx_Finalize", library.finalize))
      return library;
    const char* const error = ::dlerror();
    why = error != nullptr ? error : path + " lacks a function";
  }
  return std::nullopt;
}

// ---- in the process of its own

class Talk {
 public:
  Talk(int output, const RankQuestion& question, std::string own)
      : output_(output), question_(question), own_(std::move(own)) {}

  void run(const std::vector<std::string>& paths) {
    std::string why = "no library";
    const auto library = load(paths, why);
    if (!library) return say("unusable", why);
    library_ = *library;
    say("loaded", "");
    if (const int rc = library_.init(&self_, nullptr, 0); rc != success)
      return say("unusable", fmt::format("PMIx_Init failed with {}", rc));
    if (const std::string fault = exchange(); !fault.empty()) say("failed", fault);
    library_.finalize(nullptr, 0);
    say("end", "");
  }

 private:
  // Returns what went wrong; empty: nothing.
  std::string exchange() {
    if (question_.first) {
      Value value;
      value.type = type_of_text;
      value.data.text = own_.c_str();
      if (library_.put(scope_of_all, reach_key, &value) != success) return "PMIx_Put failed";
    }
    if (library_.commit() != success) return "PMIx_Commit failed";
    if (const int rc = library_.fence(nullptr, 0, nullptr, 0); rc != success)
      return fmt::format("not all ranks have come to the PMIx server (PMIx_Fence failed with {})", rc);
    say("map", map_of_hosts(hosts()));
    if (!question_.first) say("reach", text_of(0, reach_key));
    return "";
  }

  // Where each rank runs; empty if it is not known of all.
  std::vector<std::string> hosts() {
    std::vector<std::string> hosts(static_cast<std::size_t>(question_.ranks));
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) hosts[rank] = text_of(static_cast<int>(rank), "pmix.hname");
    if (std::find(hosts.begin(), hosts.end(), "") != hosts.end()) hosts.clear();
    return hosts;
  }

  std::string text_of(int rank, const char* key) {
    Process process = self_;
    process.rank = static_cast<std::uint32_t>(rank);
    Value* value = nullptr;
    const bool good = library_.get(&process, key, nullptr, 0, &value) == success && value != nullptr;
    return good && value->type == type_of_text && value->data.text != nullptr ? value->data.text : "";
  }

  void say(std::string_view word, std::string text) const {
    std::replace(text.begin(), text.end(), '\n', ' ');
    write_all(output_, fmt::format("{} {}\n", word, text));
  }

  int output_;
  const RankQuestion& question_;
  std::string own_;
  Library library_;
  Process self_;
};

// ---- in launch

struct Line {
  std::string word, text;
};

Result<Line> next_line(SideProcess& process, Time deadline) {
  auto line = process.line(deadline);
  if (!line) return line.error();
  const auto blank = line->find(' ');
  if (blank == std::string::npos) return Line{*line, ""};
  return Line{line->substr(0, blank), line->substr(blank + 1)};
}

// From here on the other ranks may wait for this one: it does not go its own way because of a delay. The user is told
// once what is waited for.
Result<Line> awaited_line(SideProcess& process, RankQuestion& question) {
  const Time begin = now();
  if (question.on_wait && question.limit > quiet_wait) {
    auto line = next_line(process, later(begin, quiet_wait));
    if (line || line.error().code != ErrorCode::timeout) return line;
    question.on_wait();
    question.on_wait = nullptr;
  }
  auto line = next_line(process, later(begin, question.limit));
  if (line || line.error().code != ErrorCode::timeout) return line;
  return Error{ErrorCode::timeout,
               "not all ranks have come to the PMIx server in time; is each of them a launch with the same options?"};
}

Result<RankAnswer> read_answer(SideProcess& process, RankQuestion question, Reach reach) {
  std::string map;
  for (;;) {
    const auto line = awaited_line(process, question);
    if (!line && line.error().code == ErrorCode::closed)
      return protocol_error("the PMIx library ended the process that spoke to the server; give --master-addr");
    if (!line) return line.error();
    if (line->word == "unusable") return Error{ErrorCode::closed, line->text};
    if (line->word == "failed") return protocol_error(line->text);
    if (line->word == "map") map = line->text;
    if (line->word == "reach") {
      auto told = parse_reach(line->text);
      if (!told) return protocol_error("rank 0 did not tell where it can be reached; is it another program?");
      reach = *std::move(told);
    }
    if (line->word == "end") return RankAnswer{"", host_for(reach), reach.port, map};
  }
}

// The path of a program, as the kernel knows it.
std::string program_of(int pid) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "";
}

}  // namespace

std::vector<std::string> pmix_libraries(const ProcessFacts& process) {
  constexpr std::array<std::string_view, 7> starters{"orted",   "mpirun", "mpiexec", "orterun",
                                                     "prterun", "prted",  "prte"};
  std::vector<std::string> paths;
  for (const Ancestor& ancestor : process.ancestors) {
    const std::string program = program_of(ancestor.pid);
    const auto slash = program.rfind('/');
    if (slash == std::string::npos) continue;
    const std::string_view name = std::string_view(program).substr(slash + 1);
    if (std::find(starters.begin(), starters.end(), name.substr(0, name.find('.'))) == starters.end()) continue;
    const std::string beside = program.substr(0, slash) + "/../lib/" + library_name;
    if (::access(beside.c_str(), R_OK) == 0) paths.push_back(beside);
  }
  paths.emplace_back(library_name);
  return paths;
}

Result<RankAnswer> exchange_by_pmix(const RankQuestion& question, const std::vector<std::string>& libraries) {
  const Reach reach = question.first ? own_reach(question.hostname, question.port) : Reach();
  auto process = SideProcess::start(
      [&](int output) { Talk(output, question, question.first ? to_text(reach) : "").run(libraries); });
  if (!process) return process.error();
  const auto loaded = next_line(*process, later(now(), time_to_load));
  if (!loaded || loaded->word != "loaded")
    return Error{ErrorCode::closed, loaded ? loaded->text : "loading the PMIx library: " + loaded.error().message};
  return read_answer(*process, question, reach);
}

}  // namespace launch
