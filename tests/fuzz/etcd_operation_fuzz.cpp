// Whatever an etcd answers, an operation asks well-formed requests and ends, or goes on for as long as it is answered;
// what it holds as the state of the older rendezvous is read or refused, and can be written again; and a file with any
// bytes in it is read to its end, or refused.
#include "launch/core/c10d/version_state.hpp"
#include "launch/core/store/etcd_operation.hpp"
#include "launch/core/store/file_records.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace {

using namespace launch;

constexpr int most_steps = 50;

void require(bool holds) {
  if (!holds) std::abort();
}

const std::array<Operation, 10> operations{SetKeys{{{"/a", "1"}, {"/b", "2"}}},
                                           CompareSet{"/a", "", "x"},
                                           CompareSet{"/torch.rendezvous.j", "YQ==", "Yg=="},
                                           AddNumber{"/a", 1},
                                           GetKeys{{"/a", "/b"}},
                                           CheckKeys{{"/a", "/torch.rendezvous.j"}},
                                           AwaitKeys{{"/a", "/b"}},
                                           DeleteKeys{{"/a", "/b"}},
                                           CompareSet{"/p/run_j/rdzv/active_version", "x", ""},
                                           SetKeys{{{"/p/run_j", ""}}, std::chrono::seconds(9)}};

void check(const EtcdRequest& request) {
  require(request.target.starts_with("/v2/keys/torch/elastic/") || request.target.starts_with("/v2/keys/p/run_j"));
  const auto printable = [](char c) { return c > ' ' && c < '\x7f'; };
  require(std::all_of(request.target.begin(), request.target.end(), printable));
  require(std::all_of(request.body.begin(), request.body.end(), printable));
}

// Each answer begins with a byte for its status and a byte for its length.
void play(EtcdOperation steps, std::string_view input) {
  constexpr std::array<unsigned, 6> statuses{200, 201, 404, 412, 500, 302};
  EtcdStep step = steps.start();
  for (int count = 0; count < most_steps; ++count) {
    if (const auto* const request = std::get_if<EtcdRequest>(&step)) check(*request);
    if (std::holds_alternative<Outcome>(step) || std::holds_alternative<Error>(step)) return;
    if (input.size() < 2) {
      if (const auto* const request = std::get_if<EtcdRequest>(&step); request != nullptr && request->watches)
        step = steps.expire();
      return;
    }
    const unsigned status = statuses[static_cast<unsigned char>(input[0]) % statuses.size()];
    const std::string_view body = input.substr(2, static_cast<unsigned char>(input[1]));
    input.remove_prefix(2 + body.size());
    step = steps.on({status, std::string(body)});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  const Operation& operation = operations[static_cast<unsigned char>(input[0]) % operations.size()];
  play(EtcdOperation(operation, EtcdLayout("j")), input.substr(1));
  play(EtcdOperation(operation, EtcdLayout("j", "/p")), input.substr(1));
  if (const auto state = read_version_state(input)) require(bool(read_version_state(write_version_state(*state))));
  FileRecords records;
  if (!records.read(input)) return 0;
  if (const auto answer = records.on(operation)) require(bool(records.read(answer->append)));
  return 0;
}
