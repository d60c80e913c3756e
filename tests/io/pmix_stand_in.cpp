// Plays Open MPI's PMIx library for io/pmix_exchange: what PMIX_STAND_IN says goes wrong does, else all is well, and
// rank 0 is at port 61003 of a host with the address 203.0.113.7. Loaded as a library, as the real one is.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace {

struct Process {
  std::array<char, 256> space;
  std::uint32_t rank;
};

struct Value {
  std::uint16_t type;
  const char* text;
};

constexpr std::uint16_t is_text = 3;
Value told{is_text, "61003/n1/203.0.113.7"};
std::array<Value, 2> hosts{Value{is_text, "n1"}, Value{is_text, "n2"}};

bool plays(std::string_view fault) {
  const char* const wanted = std::getenv("PMIX_STAND_IN");
  return wanted != nullptr && fault == wanted;
}

void hang() {
  for (;;) ::pause();
}

}  // namespace

extern "C" {

int PMIx_Init(Process* self, void* /*info*/, std::size_t /*count*/) {
  (void)!::write(STDOUT_FILENO, "ready this is seen by nobody\n", 29);
  if (plays("hangs at once")) hang();
  if (plays("aborts")) std::abort();
  if (plays("does not fit")) return -2;
  self->rank = 1;
  return 0;
}

int PMIx_Put(std::uint8_t /*scope*/, const char* /*key*/, Value* value) {
  told.text = value->text;
  return value->type == is_text ? 0 : -1;
}

int PMIx_Commit() { return 0; }

int PMIx_Fence(const Process* /*all*/, std::size_t /*count*/, const void* /*info*/, std::size_t /*infos*/) {
  if (plays("nobody comes")) hang();
  if (plays("dies")) std::abort();
  return plays("a rank is lost") ? -25 : 0;
}

int PMIx_Get(const Process* of, const char* key, const void* /*info*/, std::size_t /*count*/, Value** value) {
  if (std::string_view(key) == "pmix.hname") {
    *value = &hosts.at(of->rank);
    return plays("no hosts") ? -46 : 0;
  }
  if (plays("lies")) told.text = "nonsense";
  *value = &told;
  return 0;
}

int PMIx_Finalize(const void* /*info*/, std::size_t /*count*/) { return 0; }

}  // extern "C"
